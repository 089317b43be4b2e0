"""Calls of our own tools as clients may be shown them: something that is done here, for nobody else to run. Knows no
wire."""

from __future__ import annotations

from typing import Literal

from hookgate.channels.openai.identity import fingerprint
from hookgate.protocol.chat import Inbound
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.inside import CallEnded
from hookgate.protocol.values import ToolCall


@dataclass(frozen=True, slots=True)
class OwnCall:
    """`id`: no other one of its answer has it, and it is the same wherever the call is shown. `arguments`: as JSON,
    empty where nobody could read them. `output`: what the model was told, once it has ended."""

    id: str
    name: str
    arguments: str
    state: Literal["running", "completed", "failed"] = "running"
    output: str = ""

    def ended(self, output: str, *, failed: bool) -> OwnCall:
        return replace(self, state="failed" if failed else "completed", output=output)


def own_call(iteration: int, call: ToolCall) -> OwnCall:
    """`iteration`: of the reply that it is of. `call`: without secrets."""
    id_ = f"{iteration}_{fingerprint(call.id)[:8]}"
    return OwnCall(id_, call.name, encode(call.arguments).decode("utf-8", "replace"))


def own_call_ended(iteration: int, ended: CallEnded) -> OwnCall:
    return own_call(iteration, ended.call).ended(ended.outcome.for_llm, failed=ended.outcome.is_error)


def theirs(inbound: Inbound | None) -> frozenset[str]:
    """The names of the tools that the client runs itself."""
    client = None if inbound is None else inbound.client
    return frozenset(it.name for it in client.tools) if client is not None else frozenset()
