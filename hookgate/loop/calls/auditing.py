"""The record that each call leaves in the audit chain, as the loop knows it; what it stood on, the journal adds."""

from __future__ import annotations

from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.sessions.resume import MAY_HAVE_RUN
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.audit import CallAudit, CallOutcome
from hookgate.protocol.redacting import presentable, redacted
from hookgate.protocol.values import Fault, ProposedCall, ToolCall, ToolResult
from hookgate.tools.decode import ReadCall


def call_audit(batch: Batch, done: Settled) -> CallAudit:
    """Of one that has its result."""
    return _audit(batch, done.call, _outcome(done), done.result, done.duration_ns)


def cut_off_audit(batch: Batch, call: ReadCall | Settled | Ready) -> CallAudit:
    """Of one whose turn ends first: it has no result, or one that nobody hears of."""
    if isinstance(call, ReadCall):
        return _audit(batch, call.call if isinstance(call.call, ToolCall) else call.proposed, "cut_off")
    if isinstance(call, Ready):
        return _audit(batch, call.call, "cut_off")
    return _audit(batch, call.call, "cut_off", call.result)


def _audit(
    batch: Batch,
    call: ToolCall | ProposedCall,
    outcome: CallOutcome,
    result: ToolResult | None = None,
    duration_ns: int = 0,
) -> CallAudit:
    heard, policy, redactor = batch.step.heard.get(call.id, ()), batch.agent.approvals.revision, batch.redactor
    # What never ran is told to nobody else, so it is here that its secrets go.
    if isinstance(call, ToolCall):
        shown = presentable(redactor, call)
    else:
        shown = replace(call, name=redactor.text(call.name), arguments=redactor.text(call.arguments))
    result = None if result is None else redacted(redactor, result)
    return CallAudit(batch.id_of(call), batch.step, shown, policy, outcome, result, tuple(heard), duration_ns)


def _outcome(done: Settled) -> CallOutcome:
    match done:
        case Settled(by="tool"):
            return "cached" if done.result.cached else "ran"
        case Settled(by="hook"):
            return "answered"
        case Settled(result=ToolResult(error=Fault(denied_by=by))) if by:
            return "denied"
        case Settled(skipped=why) if why == MAY_HAVE_RUN:
            return "unknown"
        case _:
            return "not_run"
