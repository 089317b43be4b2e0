"""What observers are told: one frozen payload class a kind, spelled as in the JSON.

Kinds and payloads of picoclaw stand here and keep its names (its page writes members in PascalCase). Durations are
integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.own_payloads import (
    ApprovalDecided,
    ApprovalRequested,
    DeadLetter,
    GateDecision,
    HookFailed,
    HookModified,
    HookState,
    RegistryChanged,
    SessionCompacted,
    StageCall,
    ToolInjected,
)
from hookgate.protocol.events.payload import Payload, Severity
from hookgate.protocol.hook.wire import decode_members
from hookgate.protocol.values import JsonObject, ProposedCall, ToolCall, ToolResult
from hookgate.protocol.values.effects import effect_members

_END_SEVERITY: dict[str, Severity] = {"error": "error", "aborted": "warn"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TurnStart(Payload):
    kind = "turn_start"
    runtime = "agent.turn.start"
    source = "turn.start"
    UserMessage: str
    MediaCount: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class TurnEnd(Payload):
    """`Status`: completed, error, aborted or step_limit."""

    kind = "turn_end"
    runtime = "agent.turn.end"
    source = "turn.end"
    Status: str
    Iterations: int
    Duration: int
    FinalContentLen: int

    @property
    def severity(self) -> Severity:
        return _END_SEVERITY.get(self.Status, "info")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LlmRequest(Payload):
    kind = "llm_request"
    runtime = "agent.llm.request"
    source = "turn.llm.request"
    Model: str
    MessagesCount: int
    ToolsCount: int
    MaxTokens: int
    Temperature: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LlmResponse(Payload):
    kind = "llm_response"
    runtime = "agent.llm.response"
    source = "turn.llm.response"
    ContentLen: int
    ToolCalls: int
    HasReasoning: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class LlmRetry(Payload):
    kind = "llm_retry"
    runtime = "agent.llm.retry"
    source = "turn.llm.retry"
    Attempt: int
    MaxRetries: int
    Reason: str
    Error: str
    Backoff: int

    @property
    def severity(self) -> Severity:
        return "warn"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolExecStart(Payload):
    kind = "tool_exec_start"
    runtime = "agent.tool.exec_start"
    source = "turn.tool.start"
    Tool: str
    Arguments: JsonObject
    ToolCallID: str
    Origin: str | None = None
    Decode: JsonObject | None = None

    @classmethod
    def of(cls, call: ToolCall) -> ToolExecStart:
        origin = call.origin if call.origin != "native" else None
        decode = cast("JsonObject | None", decode_members(call.decode))
        return cls(call.name, call.arguments, call.id, origin, decode)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolExecEnd(Payload):
    kind = "tool_exec_end"
    runtime = "agent.tool.exec_end"
    source = "turn.tool.end"
    Tool: str
    Duration: int
    ForLLMLen: int
    ForUserLen: int
    IsError: bool
    Async: bool
    ToolCallID: str
    ErrorKind: str | None = None
    Cached: bool | None = None
    Effects: tuple[Mapping[str, object], ...] | None = None
    Stopped: bool | None = None

    @classmethod
    def of(
        cls, call: ToolCall | ProposedCall, result: ToolResult, duration_ns: int, *, stopped: bool = False
    ) -> ToolExecEnd:
        """`stopped`: the turn ended before the call did."""
        lengths = len(result.for_llm), len(result.for_user)
        kind, cached = result.error.kind if result.error else None, True if result.cached else None
        effects = tuple(effect_members(effect) for effect in result.effects) or None
        flags = result.is_error, result.is_async
        return cls(call.name, duration_ns, *lengths, *flags, call.id, kind, cached, effects, stopped or None)

    @property
    def failure(self) -> str:
        """Empty: there was none. What somebody stops has not failed by itself."""
        return "cancelled" if self.Stopped else (self.ErrorKind or "error") if self.IsError else ""

    @property
    def severity(self) -> Severity:
        return "warn" if self.IsError else "info"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolExecSkipped(Payload):
    """A call that did not run: denied, unknown, undecodable, or cancelled before it started."""

    kind = "tool_exec_skipped"
    runtime = "agent.tool.exec_skipped"
    source = "turn.tool.skipped"
    Tool: str
    Reason: str
    ToolCallID: str
    ErrorKind: str | None = None

    @property
    def severity(self) -> Severity:
        return "warn"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SteeringInjected(Payload):
    kind = "steering_injected"
    runtime = "agent.steering.injected"
    source = "turn.steering.injected"
    Count: int
    TotalContentLen: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ErrorEvent(Payload):
    kind = "error"
    runtime = "agent.error"
    source = "turn.error"
    Stage: str
    Message: str

    @property
    def severity(self) -> Severity:
        return "error"


PAYLOADS: tuple[type[Payload], ...] = (
    TurnStart,
    TurnEnd,
    LlmRequest,
    LlmResponse,
    LlmRetry,
    ToolExecStart,
    ToolExecEnd,
    ToolExecSkipped,
    SteeringInjected,
    ErrorEvent,
    HookFailed,
    HookState,
    HookModified,
    ToolInjected,
    RegistryChanged,
    ApprovalRequested,
    ApprovalDecided,
    GateDecision,
    StageCall,
    DeadLetter,
    SessionCompacted,
)

INSIDE = "inside."
"""Kinds that begin so never leave the process: `inside.py` has them."""

ON_DEMAND: frozenset[str] = frozenset(name for it in (GateDecision, StageCall) for name in (it.kind, it.runtime))
"""Names that a glob never covers: one event a hook call would drown an observer that asked for `*`."""
