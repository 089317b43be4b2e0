"""What the page hears of, and what hooks and people have said of a call, in its words. Pure."""

from __future__ import annotations

from hookgate.channels.web.shapes import ShownTrace
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import PicturesKept
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    GateDecision,
    HookFailed,
    HookModified,
    SteeringInjected,
    ToolExecEnd,
    ToolExecSkipped,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)

OBSERVED = (
    TurnStart,
    TurnEnd,
    ToolExecStart,
    ToolExecEnd,
    ToolExecSkipped,
    PicturesKept,
    SteeringInjected,
    ApprovalRequested,
    ApprovalDecided,
)
TRACED = (GateDecision, HookModified, HookFailed)


def traced(event: Event) -> ShownTrace | None:
    match event.payload:
        case GateDecision(failed=True, audit=None):
            # HookFailed says it better.
            return None
        case GateDecision() as it:
            action = f"{it.action} (audit only)" if it.audit else it.action
            return ShownTrace(it.hook, it.stage, action, it.reason or "", it.duration_ns / 1e6, it.tool or "")
        case HookModified() as it:
            return ShownTrace(it.hook, it.stage, "changed", ", ".join(it.members), 0.0, it.tool or "")
        case HookFailed() as it:
            return ShownTrace(it.hook, it.stage, f"failed, {it.policy}", it.reason, 0.0)
        case _:
            return None
