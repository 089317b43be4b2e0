"""An event on its way to observers: a payload, what it belongs to, and the two envelopes it can travel in."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cached_property

from hookgate.protocol.codec import Encoded, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.hook.wire import encoded_meta, inbound_members
from hookgate.protocol.values import Step


@dataclass(frozen=True)
class Event:
    """`step` is None for what concerns the gateway itself; `number` counts from 1; `time_ns` is Unix time."""

    payload: Payload
    step: Step | None
    number: int
    time_ns: int

    @property
    def kind(self) -> str:
        return self.payload.kind

    @property
    def tool(self) -> str:
        """The tool this event is about, where it is about one."""
        name = getattr(self.payload, "Tool", None) or getattr(self.payload, "tool", None)
        return name or ""

    @property
    def time(self) -> str:
        """RFC 3339, UTC, microseconds."""
        seconds, rest = divmod(self.time_ns, 1_000_000_000)
        moment = datetime.fromtimestamp(seconds, UTC).replace(microsecond=rest // 1000)
        return moment.isoformat(timespec="microseconds").replace("+00:00", "Z")

    @cached_property
    def hook_event(self) -> bytes:
        """Params of `hook.event`, without the closing brace, so that `Dropped` can join per hook."""
        payload = encode(self.payload.wire())
        return b'{"Kind":"%b","Meta":%b,"Payload":%b' % (self.kind.encode(), self._meta(), payload)

    @cached_property
    def runtime_event(self) -> bytes:
        """Params of `hook.runtime_event`, likewise open."""
        step = self.step
        members: dict[str, object] = {
            "id": f"evt-{self.number}",
            "kind": self.payload.runtime,
            "time": self.time,
            "source": {"component": "agent", "name": step.agent} if step else {"component": "gateway"},
            "scope": _scope(step),
            "correlation": _correlation(step),
            "severity": self.payload.severity,
            "payload": self.payload.wire(),
            "attrs": {"agent_source": self.payload.source, "iteration": step.iteration} if step else {},
        }
        return encode(members)[:-1]

    @cached_property
    def record(self) -> bytes:
        """One line of an event log: kind, time, meta, payload."""
        members = {
            "kind": self.kind,
            "time": self.time,
            "meta": Encoded(self._meta()),
            "payload": self.payload.wire(),
        }
        return encode(members) + b"\n"

    def _meta(self) -> bytes:
        return b"{}" if self.step is None else encoded_meta(self.step, self.payload.source)


def _scope(step: Step | None) -> dict[str, object]:
    if step is None:
        return {}
    return {
        "agent_id": step.agent,
        "session_key": step.session_key,
        "turn_id": step.turn_id,
        **inbound_members(step),
    }


def _correlation(step: Step | None) -> dict[str, object]:
    if step is None:
        return {}
    parent = {"parent_turn_id": step.parent_turn_id} if step.parent_turn_id else {}
    return {"trace_id": "runTurn", **parent}
