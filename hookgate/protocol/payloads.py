"""What observers are told: one frozen payload class a kind, spelled as in the JSON.

Kinds and payloads of picoclaw keep its names (its page writes members in PascalCase); hookgate's own are
snake_case. Durations are integer nanoseconds.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cache
from typing import ClassVar, Literal

from hookgate.protocol.values import JsonObject

Severity = Literal["info", "warn", "error"]

_END_SEVERITY: dict[str, Severity] = {"error": "error", "aborted": "warn"}
_STATE_SEVERITY: dict[str, Severity] = {"restarting": "warn", "quarantined": "error"}


@dataclass(frozen=True, slots=True)
class Payload:
    """`kind` is the name on the seed page, `runtime` the newer dotted one, `source` the marker in Meta."""

    kind: ClassVar[str]
    runtime: ClassVar[str]
    source: ClassVar[str] = ""

    @property
    def severity(self) -> Severity:
        return "info"

    # Once for all kinds: each generated method of each class costs a start a little.
    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and self._values() == other._values()

    def __hash__(self) -> int:
        return hash((type(self), self._values()))

    def __repr__(self) -> str:
        return f"{type(self).__name__}{self._values()}"

    def _values(self) -> tuple[object, ...]:
        return tuple(getattr(self, name) for name in _names(type(self)))

    def wire(self) -> dict[str, object]:
        """The JSON object; members that are None are left out."""
        named = ((name, getattr(self, name)) for name in _names(type(self)))
        return {name: value for name, value in named if value is not None}


@cache
def _names(kind: type[Payload]) -> tuple[str, ...]:
    return tuple(field.name for field in fields(kind))


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
class InterruptReceived(Payload):
    """`Kind`: steering, graceful or hard_abort."""

    kind = "interrupt_received"
    runtime = "agent.interrupt.received"
    source = "turn.interrupt.received"
    Kind: str
    Role: str
    ContentLen: int
    QueueDepth: int
    HintLen: int


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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HookFailed(Payload):
    """`policy` is what was done about it: continue, deny or abort."""

    kind = "hook_failed"
    runtime = "hookgate.hook_failed"
    hook: str
    stage: str
    reason: str
    policy: str

    @property
    def severity(self) -> Severity:
        return "error"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HookState(Payload):
    """`state`: starting, up, restarting, quarantined or stopped."""

    kind = "hook_state"
    runtime = "hookgate.hook_state"
    hook: str
    state: str
    reason: str | None = None
    pid: int | None = None
    restarts: int = 0

    @property
    def severity(self) -> Severity:
        return _STATE_SEVERITY.get(self.state, "info")


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HookModified(Payload):
    """`members` are the ones that really changed; `result` at before_tool: the hook answered the call."""

    kind = "hook_modified"
    runtime = "hookgate.hook_modified"
    hook: str
    stage: str
    members: tuple[str, ...]
    tool: str | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ToolInjected(Payload):
    kind = "tool_injected"
    runtime = "hookgate.tool_injected"
    hook: str
    tool: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class RegistryChanged(Payload):
    kind = "registry_changed"
    runtime = "hookgate.registry_changed"
    version: int
    added: tuple[str, ...]
    removed: tuple[str, ...]
    shadowed: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApprovalRequested(Payload):
    kind = "approval_requested"
    runtime = "hookgate.approval_requested"
    id: str
    tool: str
    asked_by: str
    title: str
    ttl_s: float


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApprovalDecided(Payload):
    kind = "approval_decided"
    runtime = "hookgate.approval_decided"
    id: str
    tool: str
    approved: bool
    by: str
    reason: str | None = None
    grant: str | None = None

    @property
    def severity(self) -> Severity:
        return "info" if self.approved else "warn"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class GateDecision(Payload):
    """What one hook decided at one stage. `audit`: it was only asked, its decision had no effect."""

    kind = "gate_decision"
    runtime = "hookgate.gate_decision"
    hook: str
    stage: str
    action: str
    duration_ns: int
    tool: str | None = None
    reason: str | None = None
    failed: bool | None = None
    audit: bool | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionCompacted(Payload):
    kind = "session_compacted"
    runtime = "hookgate.session_compacted"
    dropped: int
    kept: int


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
    InterruptReceived,
    ErrorEvent,
    HookFailed,
    HookState,
    HookModified,
    ToolInjected,
    RegistryChanged,
    ApprovalRequested,
    ApprovalDecided,
    GateDecision,
    SessionCompacted,
)

INSIDE = "inside."
"""Kinds that begin so never leave the process: `inside.py` has them."""

ON_DEMAND: frozenset[str] = frozenset({GateDecision.kind, GateDecision.runtime})
"""Names that a glob never covers: one event a hook call would drown an observer that asked for `*`."""
