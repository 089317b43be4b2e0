"""One step of a turn at the model: the tools frozen, the gate, the reply, what may be seen of it, the gate again.

Knows neither what becomes of the reply nor how a turn ends.
"""

from __future__ import annotations

from functools import partial

import structlog
import trio

from hookgate.hooks.verdicts import Dropped
from hookgate.loop.calls.batch import Batch
from hookgate.loop.calls.client_calls import asked_with
from hookgate.loop.calls.reply_calls import ReplyCalls, read_reply, renamed
from hookgate.loop.model.compaction import make_room
from hookgate.loop.model.model import complete
from hookgate.loop.model.repeated import is_repeated
from hookgate.loop.streaming.streamed_reply import Everything, StreamedReply, Watching
from hookgate.loop.turn_state import Turn
from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.errors import ProviderFailed, TurnAborted
from hookgate.protocol.events.inside import CallWritten, ModelAsked, ReplyEnded, StepBegan, ThoughtWritten
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import LLMReply, LLMRequest, Message, Step
from hookgate.protocol.values.delta import CallPiece
from hookgate.protocol.zot.names import EXTENSION
from hookgate.tools.extract import CallHoldBack
from hookgate.tools.registry import Snapshot

log = structlog.get_logger("hookgate.loop")


@dataclass(frozen=True)
class ModelAnswer:
    """What the model said. `answer`: what people see of it; None where a hook keeps it from them, and `told` is the
    line that says so, if one does."""

    batch: Batch
    said: ReplyCalls
    answer: Outbound | None
    told: str
    reply: LLMReply


async def ask_with_room(turn: Turn, step: Step) -> ModelAnswer:
    """Once more, with the older part summed up, where the endpoint says that the conversation is too long."""
    try:
        return await _ask_model(turn, step)
    except ProviderFailed as error:
        if error.kind != "overflow":
            raise
        read, turn.progress.read = turn.progress.read, ()
        await turn.transcript.append(*map(Draft, read))
        if not await make_room(turn.agent, turn.transcript, step, must=True):
            raise
    return await _ask_model(turn, step)


async def _ask_model(turn: Turn, step: Step) -> ModelAnswer:
    """Freeze the tools, pass the gate, ask, pass the gate again."""
    # A turn that was stopped by now asks neither hooks nor the model.
    await trio.lowlevel.checkpoint_if_cancelled()
    turn.emit(StepBegan(step.iteration + 1), step)
    so_far: list[StreamedReply] = []
    try:
        return await _heard(turn, step, so_far)
    except (ProviderFailed, TurnAborted, trio.Cancelled) as error:
        _cut_short(turn, step, so_far[0].break_off() if so_far else "", error)
        raise
    finally:
        turn.outlet.delivery.written(step.chat)


async def _heard(turn: Turn, step: Step, so_far: list[StreamedReply]) -> ModelAnswer:
    agent = turn.agent
    snapshot = agent.selection.of(agent.registry.snapshot(), step.chat.channel)
    turn.memo.at_version(snapshot.version)
    fits = agent.selection.fits(step.chat.channel)
    request = await agent.gate.before_llm(step, request_of(turn, snapshot), fits)
    step = replace(step, model=request.model)
    shown = _shown(turn, step, request)
    so_far.append(shown)
    turn.emit(ModelAsked(), step)
    reply = await complete(agent, step, request, shown)
    turn.transcript.answered()
    if reply.tool_calls:
        turn.carried.native.add(request.model)
    reply = await agent.gate.after_llm(step, reply)
    redactor = agent.around.redactor
    said = await read_reply(reply, request, turn.text_calls(request.model), step.iteration)
    if await is_repeated(said.written, (*turn.transcript.messages, *request.messages)):
        log.info("call_in_text_repeats_the_conversation", turn=turn.id, calls=[it.proposed.name for it in said.calls])
        said = ReplyCalls(reply.content)
    # Everybody reads the ids of calls.
    said = renamed(said, lambda call_id: redactor.text(call_id) != call_id, step.iteration)
    visible = said.text if reply.shown is None else reply.shown
    answer, told = await _passed(turn, step, (visible, said.fault, reply.withheld_by))
    if not said.fault and answer is not None:
        # Text that no hook has touched is shown as it came.
        untouched = answer.text == redactor.text(visible)
        shown.finish(visible if untouched else answer.text)
    else:
        shown.withhold()
    if said.calls and answer is not None and answer.text:
        turn.outlet.channel.end_stream(step.chat)
    return ModelAnswer(turn.batch(step, request, snapshot), said, answer, told, reply)


async def _passed(turn: Turn, step: Step, came: tuple[str, str, str]) -> tuple[Outbound | None, str]:
    """What leaves of a reply, and the line that is told of it. `came`: its text, what is wrong with it, who keeps it
    already. Raises TurnAborted."""
    text, fault, withheld_by = came
    if turn.within is not None:
        return None, ""
    answer = turn.line(text, "answer")
    if withheld_by:
        return None, withheld_by
    if fault or not text.strip():
        return answer, ""
    judged = await turn.sends(step, answer, turn.answers_about())
    return (None, judged.tell) if isinstance(judged, Dropped) else (judged, "")


def _cut_short(turn: Turn, step: Step, so_far: str, error: ProviderFailed | TurnAborted | trio.Cancelled) -> None:
    """What people have read of a reply that broke off stays in the conversation: whatever ends the turn writes it."""
    turn.progress.read = (Message("assistant", so_far),) if so_far.strip() else ()
    redactor = turn.redactor
    stop, failure = ("aborted", "") if isinstance(error, trio.Cancelled) else ("error", _why(error))
    seen = redactor.text(so_far)
    turn.emit(ReplyEnded(seen, seen, (), stop, redactor.text(failure)), step)


def _to_nobody(_piece: str | None) -> None:
    pass


def _why(error: ProviderFailed | TurnAborted) -> str:
    """Of an extension's refusal its bare reason, as zot has it."""
    if isinstance(error, TurnAborted) and not error.hook.startswith(EXTENSION):
        return str(error)
    return error.reason


def request_of(turn: Turn, snapshot: Snapshot) -> LLMRequest:
    agent = turn.agent
    system = (Message("system", agent.system),) if agent.system else ()
    request = LLMRequest(agent.model, (*system, *turn.transcript.messages), snapshot.specs, agent.options)
    return asked_with(request, turn.inbound, calls_made=any(entry.calls for entry in turn.transcript.turn))


def _shown(turn: Turn, step: Step, request: LLMRequest) -> StreamedReply:
    """Nobody reads along while a hook may still change the text, or where it may be a call."""
    text_calls, redactor = turn.text_calls(request.model), turn.redactor
    if turn.within is not None:
        return StreamedReply(Watching(_to_nobody), None, redactor)

    def show(text: str | None) -> None:
        # What comes late would stand in the conversation that has begun there meanwhile.
        if not turn.progress.renewed:
            turn.outlet.show(turn.transcript.held, turn.inbound.chat, text)

    def tell(piece: CallPiece) -> None:
        turn.emit(CallWritten(piece), step)

    def think(piece: str) -> None:
        turn.emit(ThoughtWritten(piece), step)

    heard = turn.agent.gate.events.heard
    calls, thoughts = tell if heard(CallWritten) else None, think if heard(ThoughtWritten) else None
    if turn.agent.gate.holds_text(step, request.model):
        return StreamedReply(Watching(show), None, redactor)
    if text_calls == "off" or not request.tools:
        return StreamedReply(Watching(show, calls, thoughts), Everything, redactor)
    return StreamedReply(Watching(show, calls, thoughts), partial(CallHoldBack, text_calls), redactor)
