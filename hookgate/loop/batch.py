"""The calls of one reply and what they have in common: the values that preparing, executing and finishing share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

from hookgate.approvals.binding import Permit
from hookgate.hooks.chains import Chains
from hookgate.loop.agent import Agent
from hookgate.loop.delivery.outlet import Outlet
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Claim
from hookgate.protocol.values import LLMRequest, Outbound, ProposedCall, Step, ToolCall, ToolResult, ToolSpec
from hookgate.protocol.zot.names import EXTENSION
from hookgate.tools.memo import Memo
from hookgate.tools.registry import Snapshot


@dataclass(frozen=True)
class Batch:
    """`request` is the one that the model answered; `memo` is the turn's; `used` gathers whose tools were called.
    `claim`: under it the journal keeps what is asked of people here, and what is run; `ids`: its names for the calls,
    by their own. `while_asking` is held while a person is asked. `within_writer`: the call that makes these, which
    has the workspace for itself meanwhile. `interrupted`: whether somebody has said something meanwhile that the rest
    of the calls is skipped for."""

    agent: Agent
    outlet: Outlet
    claim: Claim
    step: Step
    request: LLMRequest
    snapshot: Snapshot
    journal: Journal
    memo: Memo = field(default_factory=Memo)
    used: set[str] = field(default_factory=set[str])
    while_asking: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    ids: Mapping[str, str] = field(default_factory=dict[str, str])
    within_writer: str = ""
    interrupted: Callable[[], bool] = lambda: False

    def spec(self, name: str) -> ToolSpec | None:
        """The tool as this request ships it: a reply asks several times a call, of tools that may be hundreds."""
        return self._specs.get(name)

    def own_spec(self, name: str) -> ToolSpec | None:
        """As the tool is, whatever a hook has made of it in this request."""
        return self.snapshot.spec(name) or self.spec(name)

    def id_of(self, call: ToolCall | ProposedCall) -> str:
        """The journal's name for it."""
        return self.ids.get(call.id, call.id)

    @cached_property
    def _specs(self) -> dict[str, ToolSpec]:
        return {spec.name: spec for spec in reversed(self.request.tools)}

    @cached_property
    def owners(self) -> dict[str, str]:
        """The hook that must answer a tool's calls, by the tool's name; only of injected tools."""
        return {spec.name: spec.owner for spec in self.request.tools if spec.owner}


@dataclass(frozen=True, slots=True)
class Ready:
    """Allowed and approved: this frozen call is the one that runs. `judges`: the hooks that stood then; `permit`:
    where people had to say yes."""

    call: ToolCall
    spec: ToolSpec
    tool: Tool
    judges: Chains
    permit: Permit | None = None

    @property
    def is_kept(self) -> bool:
        """Whether the journal has it before it runs: it was approved, may change something or make calls itself."""
        spec = self.spec
        return self.permit is not None or not spec.read_only or spec.provider.startswith(EXTENSION)


@dataclass(frozen=True, slots=True)
class Owned:
    """Allowed and approved, for the hook that brought the tool: its answer is the execution."""

    call: ToolCall
    spec: ToolSpec
    judges: Chains
    permit: Permit | None = None
    is_kept: ClassVar = True


@dataclass(frozen=True, slots=True)
class Settled:
    """A result without execution; `skipped` says why in the event, and is empty where a hook answered. `outbox`: what
    people read of it."""

    call: ProposedCall | ToolCall
    result: ToolResult
    skipped: str = ""
    outbox: tuple[Outbound, ...] = ()


@dataclass(frozen=True, slots=True)
class Final:
    """A result as the model gets it, and what people read of it: both are stored in one step."""

    result: ToolResult
    outbox: tuple[Outbound, ...] = ()
