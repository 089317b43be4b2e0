"""What becomes of a result: the gate's last stage, the user's part delivered, its end announced."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter_ns

import structlog

from hookgate.loop.batch import Batch, Ready, Settled
from hookgate.protocol.effects import effect_members
from hookgate.protocol.inside import CallEnded, CallStatus
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.payloads import ToolExecEnd, ToolExecSkipped, ToolExecStart
from hookgate.protocol.values import Fault, Finished, Outbound, ProposedCall, ToolCall, ToolResult
from hookgate.protocol.wire import decode_members
from hookgate.tools.dispatch import rendered

log = structlog.get_logger("hookgate.loop")

DELIVERED = (
    "The requested output has already been delivered to the user in the current chat. Do not call send_file or any "
    "other delivery tool again. If you reply, provide only a brief confirmation."
)
"""picoclaw's words to the model, kept for prompts that rely on them."""


async def finish(batch: Batch, finished: Finished) -> ToolResult:
    judged = await batch.agent.gate.after_tool(batch.step, finished)
    # A hook may have put back what it knows; what no hook has touched is redacted already.
    if judged is not finished.result:
        judged = redacted(batch.agent.around.redactor, rendered(judged))
    result = await _delivered(batch, judged)
    events = batch.agent.gate.events
    if events.heard(ToolExecEnd):
        events.emit(_ended(finished.call, result, finished.duration_ns), batch.step)
    return result


async def shown(batch: Batch, call: ToolCall, answer: ToolResult, started: int) -> Settled:
    """A hook's own result: no after_tool, as the page says, but its user part is delivered and its end announced."""
    result = await _delivered(batch, redacted(batch.agent.around.redactor, rendered(answer)))
    batch.agent.gate.events.emit(_ended(call, result, perf_counter_ns() - started), batch.step)
    return Settled(call, result)


async def _delivered(batch: Batch, result: ToolResult) -> ToolResult:
    """Show the user what is meant for the user. What cannot be delivered was not handled."""
    show = result.for_user if not result.silent else ""
    media = result.media if result.response_handled else ()
    if not show and not media:
        return result
    try:
        await batch.channel.send(Outbound(batch.step.chat, show, media, kind="output"))
    except Exception as error:
        # Whatever a channel raises is that channel's trouble: the tool has run, and the model must hear of it.
        log.warning("output_undelivered", session=batch.step.session_key, exc_info=error)
        reason = f"failed to deliver attachment: {error}"
        fault = Fault("transient", "deliver", reason)
        return replace(result, for_llm=reason, is_error=True, response_handled=False, error=fault)
    return replace(result, for_llm=f"{result.for_llm}\n{DELIVERED}") if result.response_handled else result


def closed(batch: Batch, item: Settled) -> ToolResult:
    if item.skipped:
        kind = item.result.error.kind if item.result.error else None
        skipped = ToolExecSkipped(item.call.name, item.skipped, item.call.id, kind)
        batch.agent.gate.events.emit(skipped, batch.step)
    return redacted(batch.agent.around.redactor, item.result)


def tell_ended(batch: Batch, item: Ready | Settled, result: ToolResult) -> None:
    events = batch.agent.gate.events
    if not events.heard(CallEnded):
        return
    call = item.call if isinstance(item.call, ToolCall) else ToolCall(item.call.id, item.call.name, {})
    ran = isinstance(item, Ready)
    status: CallStatus = "completed"
    if result.is_error:
        timed_out = (
            ran
            and result.error is not None
            and result.error.kind == "transient"
            and "timed out" in result.error.reason
        )
        status = "timed_out" if timed_out else "failed" if ran else "blocked"
    raw = item.call.arguments if isinstance(item.call, ProposedCall) else ""
    events.emit(CallEnded(call, result, status, ran, raw), batch.step)


def redacted(redactor: Redactor, result: ToolResult) -> ToolResult:
    """The result as anybody may see it; the same object where nothing in it is secret."""
    for_llm, for_user = redactor.text(result.for_llm), redactor.text(result.for_user)
    data = redactor.value(result.data) if result.data is not None else None
    if (for_llm, for_user, data) == (result.for_llm, result.for_user, result.data):
        return result
    return replace(result, for_llm=for_llm, for_user=for_user, data=data)


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
