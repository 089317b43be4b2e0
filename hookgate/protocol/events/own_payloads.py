"""The kinds of events that are hookgate's own, in snake_case: what became of hooks, tools, approvals, sessions."""

from __future__ import annotations

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payload import Payload, Severity
from hookgate.protocol.values import JsonObject

_STATE_SEVERITY: dict[str, Severity] = {"restarting": "warn", "quarantined": "error"}


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class HookFailed(Payload):
    """`policy` is what was done about it: continue, deny or abort. `let_through`: what the hook should have judged
    and nobody did, where something went on without it."""

    kind = "hook_failed"
    runtime = "hookgate.hook_failed"
    hook: str
    stage: str
    reason: str
    policy: str
    let_through: str | None = None

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
    """`digest` is of the call as it is, whatever of it was shown."""

    kind = "approval_requested"
    runtime = "hookgate.approval_requested"
    id: str
    tool: str
    asked_by: str
    title: str
    ttl_s: float
    digest: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ApprovalDecided(Payload):
    kind = "approval_decided"
    runtime = "hookgate.approval_decided"
    id: str
    tool: str
    approved: bool
    by: str
    digest: str
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
class StageCall(Payload):
    """All that one hook was asked at one stage, and what its answer counted for: what `hooks replay` asks again.

    `params`: those of the call, without `deadline_ms`; `answer`: its `action`, and what belongs to it.
    """

    kind = "stage_call"
    runtime = "hookgate.stage_call"
    hook: str
    stage: str
    params: JsonObject
    answer: JsonObject
    duration_ns: int
    failed: bool | None = None
    audit: bool | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class DeadLetter(Payload):
    """What was said to a chat will never arrive there. `output`: its kind, or `approval`."""

    kind = "dead_letter"
    runtime = "hookgate.dead_letter"
    channel: str
    chat: str
    thread: str | None
    output: str
    reason: str

    @property
    def severity(self) -> Severity:
        return "error"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionCompacted(Payload):
    kind = "session_compacted"
    runtime = "hookgate.session_compacted"
    dropped: int
    kept: int
