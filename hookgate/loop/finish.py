"""What becomes of a result: the gate's last stage, the user's part delivered, its end announced."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import replace
from time import perf_counter_ns

from hookgate.hooks.verdicts import Dropped
from hookgate.loop.batch import Batch, Final, Owned, Ready, Settled
from hookgate.loop.sessions.transcript import NO_RESULT
from hookgate.protocol.effects import effect_members
from hookgate.protocol.events.inside import CallEnded, CallStatus
from hookgate.protocol.events.payloads import ToolExecEnd, ToolExecSkipped, ToolExecStart
from hookgate.protocol.hook.wire import decode_members
from hookgate.protocol.redacting import presentable, redacted
from hookgate.protocol.values import Fault, Finished, Outbound, ProposedCall, ToolCall, ToolResult
from hookgate.tools.dispatch import rendered, sound

DELIVERED = (
    "The requested output has already been delivered to the user in the current chat. Do not call send_file or any "
    "other delivery tool again. If you reply, provide only a brief confirmation."
)
"""picoclaw's words to the model, kept for prompts that rely on them."""


async def finish(batch: Batch, finished: Finished) -> Final:
    try:
        judged = await batch.agent.gate.after_tool(batch.step, finished)
        # A hook may have put back what it knows; what no hook has touched is redacted already.
        if judged is not finished.result:
            judged = rendered(redacted(batch.agent.around.redactor, sound(judged)))
        final = await _delivered(batch, judged)
    except BaseException:
        cut_off(batch, [finished])
        raise
    events = batch.agent.gate.events
    if events.heard(ToolExecEnd):
        events.emit(_ended(finished.call, final.result, finished.duration_ns), batch.step)
    return final


async def owned(batch: Batch, item: Owned) -> Settled:
    """The owner's answer is the execution of an injected tool."""
    step, gate = batch.step, batch.agent.gate
    try:
        return await answered(batch, item.call, lambda: gate.answer_owned(step, item.call, item.spec))
    finally:
        batch.memo.clear()


async def answered(batch: Batch, call: ToolCall, answer: Callable[[], Awaitable[ToolResult]]) -> Settled:
    """A hook's own result: no after_tool, as the page says, but its user part is delivered and its end announced."""
    redactor, events = batch.agent.around.redactor, batch.agent.gate.events
    events.emit(started(call), batch.step)
    begun = perf_counter_ns()
    try:
        final = await _delivered(batch, rendered(redacted(redactor, sound(await answer()))))
    except BaseException:
        cut_off(batch, [Finished(presentable(redactor, call), ToolResult(""), perf_counter_ns() - begun)])
        raise
    events.emit(_ended(call, final.result, perf_counter_ns() - begun), batch.step)
    return Settled(call, final.result, outbox=final.outbox)


def cut_off(batch: Batch, begun: Iterable[Finished | Settled]) -> None:
    """Calls that began and whose results nobody will hear of any more: whoever heard of the start hears of an end."""
    for item in begun:
        if isinstance(item, Finished):
            result = ToolResult(NO_RESULT, is_error=True, error=Fault("unknown", item.call.name, NO_RESULT))
            events = batch.agent.gate.events
            events.emit(_ended(item.call, result, item.duration_ns), batch.step)
            events.emit(CallEnded(item.call, result, "cancelled", True), batch.step)


async def _delivered(batch: Batch, result: ToolResult) -> Final:
    """What is meant for the user leaves with the result. What stands for the answer leaves before it, for what cannot
    be delivered was not handled."""
    handled = result.response_handled
    show = result.for_user if not result.silent and (handled or batch.outlet.policy.show_tools) else ""
    media = result.media if handled else ()
    outbox = (Outbound(batch.step.chat, show, media, kind="output"),) if show or media else ()
    if not outbox:
        return Final(result)
    judged = await batch.agent.gate.before_send(batch.step, outbox[0])
    if isinstance(judged, Dropped):
        outbox = (Outbound(batch.step.chat, judged.tell, kind="notice"),) if judged.tell else ()
        return Final(_undelivered(result, judged.tell or f"{judged.hook} withheld it") if handled else result, outbox)
    if not handled:
        return Final(result, (judged,))
    await batch.journal.work.append(batch.claim, (), (judged,))
    if why := await batch.outlet.delivery.hand_over(judged, batch.while_asking):
        return Final(_undelivered(result, why))
    return Final(replace(result, for_llm=f"{result.for_llm}\n{DELIVERED}"))


def _undelivered(result: ToolResult, why: str) -> ToolResult:
    """The tool has run, and the model must hear of it."""
    reason = f"failed to deliver attachment: {why}"
    fault = Fault("transient", "deliver", reason)
    return replace(result, for_llm=reason, is_error=True, response_handled=False, error=fault)


def closed(batch: Batch, item: Settled) -> Final:
    redactor = batch.agent.around.redactor
    if item.skipped:
        kind = item.result.error.kind if item.result.error else None
        # The name may be one that the model has made up.
        skipped = ToolExecSkipped(redactor.text(item.call.name), item.skipped, item.call.id, kind)
        batch.agent.gate.events.emit(skipped, batch.step)
    return Final(rendered(redacted(redactor, sound(item.result))), item.outbox)


def tell_ended(batch: Batch, item: Ready | Owned | Settled | Finished, result: ToolResult) -> None:
    events = batch.agent.gate.events
    if not events.heard(CallEnded):
        return
    redactor = batch.agent.around.redactor
    known = item.call if isinstance(item.call, ToolCall) else ToolCall(item.call.id, item.call.name, {})
    call = presentable(redactor, replace(known, name=redactor.text(known.name)))
    ran = isinstance(item, Ready | Finished)
    raw = redactor.text(item.call.arguments) if isinstance(item.call, ProposedCall) else ""
    events.emit(CallEnded(call, result, _status(result, ran=ran), ran, raw), batch.step)


def _status(result: ToolResult, *, ran: bool) -> CallStatus:
    """`blocked` is what somebody refused; a call that could not be made has failed."""
    match result.error:
        case _ if not result.is_error:
            return "completed"
        case Fault(timed_out=True) if ran:
            return "timed_out"
        case Fault(denied_by=by) if by and not ran:
            return "blocked"
        case _:
            return "failed"


def started(call: ToolCall) -> ToolExecStart:
    origin = call.origin if call.origin != "native" else None
    return ToolExecStart(call.name, call.arguments, call.id, origin, decode_members(call.decode))


def _ended(call: ToolCall, result: ToolResult, duration_ns: int) -> ToolExecEnd:
    return ToolExecEnd(
        call.name,
        duration_ns,
        len(result.for_llm),
        len(result.for_user),
        result.is_error,
        result.is_async,
        call.id,
        result.error.kind if result.error else None,
        True if result.cached else None,
        tuple(effect_members(effect) for effect in result.effects) or None,
    )
