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
    """Of one that has its result, which is without secrets, as a call is that a tool or a hook has answered."""
    call = done.call if done.by else _shown(batch, done.call)
    return _audit(batch, call, _outcome(done), done.result, done.duration_ns)


def cut_off_audit(batch: Batch, call: ReadCall | Settled | Ready) -> CallAudit:
    """Of one whose turn ends first: it has no result, or one that nobody hears of."""
    if isinstance(call, ReadCall):
        return _audit(
            batch, _shown(batch, call.call if isinstance(call.call, ToolCall) else call.proposed), "cut_off"
        )
    result = redacted(batch.redactor, call.result) if isinstance(call, Settled) else None
    return _audit(batch, _shown(batch, call.call), "cut_off", result)


def _shown(batch: Batch, call: ToolCall | ProposedCall) -> ToolCall | ProposedCall:
    """Without secrets: nobody else has been told of it yet."""
    if isinstance(call, ToolCall):
        return presentable(batch.redactor, call)
    name, arguments = map(batch.redactor.text, (call.name, call.arguments))
    return replace(call, name=name, arguments=arguments)


def _audit(
    batch: Batch,
    call: ToolCall | ProposedCall,
    outcome: CallOutcome,
    result: ToolResult | None = None,
    duration_ns: int = 0,
) -> CallAudit:
    heard, policy = batch.step.heard.get(call.id, ()), batch.agent.approvals.revision
    return CallAudit(batch.id_of(call), batch.step, call, policy, outcome, result, tuple(heard), duration_ns)


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
