"""What becomes of a result: the gate's last stage, the user's part delivered, its end announced."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.hooks.verdicts import Dropped
from hookgate.loop.attachments import kept, sendable
from hookgate.loop.calls.batch import Batch, Ready, Settled
from hookgate.loop.sessions.transcript import NO_RESULT, NOT_RUN
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.events.inside import CallEnded
from hookgate.protocol.events.payloads import ToolExecEnd, ToolExecSkipped
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import Fault, FaultKind, Finished, ProposedCall, ToolCall, ToolResult
from hookgate.tools.decode import ReadCall
from hookgate.tools.dispatch import sound

DELIVERED = (
    "The requested output has already been delivered to the user in the current chat. Do not call send_file or any "
    "other delivery tool again. If you reply, provide only a brief confirmation."
)
"""picoclaw's words to the model, kept for prompts that rely on them."""


async def finish(batch: Batch, done: Ready | Settled) -> Settled:
    """The result as the model gets it, with what people read of it. What a hook gave itself passes no after_tool."""
    assert isinstance(done, Settled)  # noqa: S101 - all have been executed
    events, result = batch.events, done.result
    if not done.by:
        if done.skipped:
            # The name may be one that the model has made up.
            name, kind = batch.redactor.text(done.call.name), result.error.kind if result.error else None
            events.emit(ToolExecSkipped(name, done.skipped, done.call.id, kind), batch.step)
        return replace(done, result=batch.presented(sound(result)))
    if done.by == "tool":
        assert isinstance(done.call, ToolCall)  # noqa: S101 - what nobody could read does not run
        result = await batch.agent.gate.after_tool(batch.step, Finished(done.call, result, done.duration_ns))
        # A hook may have put back what it knows; what no hook has touched is redacted already.
        if result is not done.result:
            result = batch.presented(sound(result))
    final = await _delivered(batch, done if result is done.result else replace(done, result=result))
    if events.heard(ToolExecEnd):
        events.emit(ToolExecEnd.of(final.call, final.result, done.duration_ns), batch.step)
    return final


def cut_off(
    batch: Batch, under_way: Sequence[Ready | Settled], waiting: Sequence[ReadCall | Ready | Settled]
) -> None:
    """Calls whose results nobody will hear of any more: whoever heard of them hears of an end, and the model is told
    how far each had come."""
    batch.agent.tally.dropped += sum(isinstance(it, Ready) and it.tool is not None for it in under_way)
    for item in (*under_way, *waiting):
        proposed, ran = item.proposed if isinstance(item, ReadCall) else item.call, False
        lost = ToolResult(NOT_RUN, is_error=True, error=Fault("unknown", proposed.name, NOT_RUN))
        match item:
            case ReadCall(call=call):
                proposed = call if isinstance(call, ToolCall) else proposed
            case Ready(begun=ran):
                lost = _unknown(item.call) if ran else lost
            case Settled(by=""):
                lost = batch.presented(sound(item.result))
            case Settled():
                ran = item.begun
                lost = _so_far(batch, item) or _unknown(item.call) if ran else lost
                batch.events.emit(ToolExecEnd.of(item.call, lost, item.duration_ns, stopped=True), batch.step)
        batch.left[proposed.id] = lost
        batch.events.emit(CallEnded(_shown(batch, proposed), lost, "cancelled", ran), batch.step)


def _unknown(call: ToolCall | ProposedCall) -> ToolResult:
    return ToolResult(NO_RESULT, is_error=True, error=Fault("unknown", call.name, NO_RESULT))


def _so_far(batch: Batch, item: Settled) -> ToolResult | None:
    """What a call has come to that was cut short; None where that is nothing, or a hook would have had to see it."""
    assert isinstance(item.call, ToolCall)  # noqa: S101 - what nobody could read does not run
    if not item.cut_short or not item.result.for_llm:
        return None
    question = Question(Stage.AFTER_TOOL, batch.step, Finished(item.call, item.result, item.duration_ns))
    # hookgate's own guards there give advice, and keep nothing from anybody.
    judges = (it for it in batch.agent.gate.chains.matching(question) if not it.rules.inside)
    return None if any(it.answers_at(Stage.AFTER_TOOL) for it in judges) else batch.presented(sound(item.result))


async def _delivered(batch: Batch, done: Settled) -> Settled:
    """What is meant for the user leaves with the result. What stands for the answer leaves before it, for what cannot
    be delivered was not handled."""
    if batch.within is not None:
        # What a delegated task comes to is for whoever asked for it; people read that one's answer.
        return replace(done, result=replace(done.result, response_handled=False)) if done.by else done
    result, handled = done.result, done.result.response_handled
    show = result.for_user if not result.silent and (handled or batch.outlet.policy.show_tools) else ""
    media = await kept(result.media, batch.agent.around, batch.step.chat) if handled else ()
    if not show and not media:
        return done
    output = Outbound(batch.step.chat, show, media, kind="output")
    judged = await batch.agent.gate.before_send(batch.step, output, batch.answers_about(done.call))
    if isinstance(judged, Dropped):
        told = (batch.notice(judged.tell),) if judged.tell else ()
        why = judged.tell or f"{judged.hook} withheld it"
        return replace(done, result=_undelivered(result, why) if handled else result, outbox=told)
    files = await sendable(judged, batch.agent.around, batch.outlet.channel.limits)
    if not handled:
        return replace(done, outbox=(files.told,))
    if files.refused:
        return replace(done, result=_undelivered(result, "; ".join(files.refused), "validation"))
    judged = files.outbound
    if why := await _handed_over(batch, batch.id_of(done.call), judged):
        return replace(done, result=_undelivered(result, why))
    return replace(done, result=replace(result, for_llm=f"{result.for_llm}\n{DELIVERED}"))


async def _handed_over(batch: Batch, call_id: str, output: Outbound) -> str:
    """Why it is not in the chat, and never will be; what only takes long is on its way."""
    work, delivery = batch.journal.work, batch.outlet.delivery
    handed = await work.hand_over(batch.claim, call_id, output)
    if why := handed.given_up or await delivery.hand_over(output.chat, handed.row, batch.while_asking):
        return why
    # What its channel refused for good holds up nobody, so the journal alone knows of it.
    return (await work.hand_over(batch.claim, call_id, output)).given_up


def _undelivered(result: ToolResult, why: str, kind: FaultKind = "transient") -> ToolResult:
    """The tool has run, and the model must hear of it."""
    reason = f"failed to deliver attachment: {why}"
    fault = Fault(kind, "deliver", reason)
    return replace(result, for_llm=reason, is_error=True, response_handled=False, error=fault)


def tell_ended(batch: Batch, done: Settled) -> None:
    """`blocked` is what somebody refused; a call that could not be made has failed."""
    if not batch.events.heard(CallEnded):
        return
    ran, fault, status = done.by == "tool", done.result.error, "failed"
    if not done.result.is_error:
        status = "completed"
    elif fault is not None and fault.timed_out and ran:
        status = "timed_out"
    elif fault is not None and fault.denied_by and not ran:
        status = "blocked"
    raw = batch.redactor.text(done.call.arguments) if isinstance(done.call, ProposedCall) else ""
    batch.events.emit(CallEnded(_shown(batch, done.call), done.result, status, ran, raw), batch.step)


def _shown(batch: Batch, call: ToolCall | ProposedCall) -> ToolCall:
    """As everybody may read it, without arguments where they cannot be read."""
    return presentable(batch.redactor, call if isinstance(call, ToolCall) else ToolCall(call.id, call.name, {}))
