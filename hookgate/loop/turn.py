"""One turn, from an Inbound to its Outbound: ask the model, run what it asked for, repeat."""

from __future__ import annotations

from time import perf_counter_ns

import structlog

from hookgate.loop.calls.batch import Batch
from hookgate.loop.calls.calls import run_calls
from hookgate.loop.calls.client_calls import divided, hand_over
from hookgate.loop.incoming import let_in, take_news
from hookgate.loop.model.compaction import make_room
from hookgate.loop.model.model_step import ModelAnswer, ask_with_room, request_of
from hookgate.loop.sessions.resume import last_reply, left, names, record, replies
from hookgate.loop.turn_state import Turn
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import ProviderFailed, SessionAborted, StepLimitReached, TurnAborted
from hookgate.protocol.events.inside import Prompted, ReplyEnded
from hookgate.protocol.events.payloads import ErrorEvent, TurnEnd, TurnStart
from hookgate.protocol.journal.values import Draft, Entry, Fenced
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import Message

log = structlog.get_logger("hookgate.loop")

CORRECTION = (
    "Your last message began a tool call that cannot be read: {}. Send it again as a proper tool call, or answer "
    "without one."
)


async def run_turn(turn: Turn) -> None:
    """Answer the message, which is the last of the transcript, or go on where a crash cut that off; every failure is
    one plain line in the chat.

    Raises SessionAborted, Fenced and Cancelled: whoever called ends the claim then, and has the chat told.
    """
    began, progress = perf_counter_ns(), turn.progress
    step = turn.step(0)
    if turn.transcript.turn and replies(turn.transcript, turn.inbound):
        step = replace(step, resumed=True)
    turn.emit(TurnStart(turn.inbound.text, len(turn.inbound.media)), step)
    try:
        try:
            progress.answer = await _converse(turn)
            progress.status = "completed"
        except (SessionAborted, Fenced, StoreFailed):
            raise
        except Exception as error:
            await _failed(turn, error)
        await turn.flush()
    finally:
        turn.memo.clear()
        end = TurnEnd(progress.status, progress.iterations, perf_counter_ns() - began, len(progress.answer))
        turn.emit(end, progress.step or turn.step(0))


async def _converse(turn: Turn) -> str:
    """The answer; empty where tools have delivered everything, or a hook withholds it."""
    progress, before = turn.progress, replies(turn.transcript, turn.inbound)
    inbound = turn.inbound if turn.transcript.turn else await let_in(turn)
    if inbound is None:
        return progress.answer
    turn = replace(turn, inbound=inbound)
    said, begins = [it.message for it in turn.transcript.turn], CORRECTION.partition("{}")[0]
    corrected = any(it.role == "user" and it.content.startswith(begins) for it in said)
    turn.emit(Prompted(turn.inbound, next((it.at for it in turn.transcript.turn), 0.0)), turn.step(0))
    if before and (reply := last_reply(turn.transcript)) and await _go_on(turn, before, reply):
        return ""
    for iteration in range(before, turn.agent.max_steps):
        progress.step, progress.iterations = turn.step(iteration), iteration + 1
        await take_news(turn, progress.step)
        await make_room(turn.agent, turn.transcript, progress.step)
        heard = await ask_with_room(turn, progress.step)
        said, batch = heard.said, await _join(turn, heard)
        if said.fault:
            if corrected:
                raise ProviderFailed("format", f"it keeps writing a tool call that cannot be read: {said.fault}")
            corrected = True
            await turn.transcript.append(Draft(Message("user", CORRECTION.format(said.fault))))
        elif not said.calls:
            if turn.within is not None:
                return said.text
            return heard.answer.text if heard.answer is not None else ""
        else:
            ours, theirs = divided(batch, said.calls)
            if await run_calls(batch, ours, turn.record) or theirs:
                await hand_over(turn, theirs)
                return ""
    tried = f"after {turn.agent.max_steps} model calls in one turn (agent.max_steps) it still wanted to run tools"
    raise StepLimitReached(f"I stopped: {tried}.")


async def _go_on(turn: Turn, before: int, reply: Entry) -> bool:
    """The calls that a crash has left of the last reply. Whether they were all that there was to do."""
    step = replace(turn.step(before - 1), resumed=True)
    # Rules and hooks for a model judge what that one asks for, also where a hook had chosen it.
    model = next((call.model for call in reply.calls if call.model), step.model)
    step = turn.progress.step = replace(step, model=model)
    snapshot = turn.agent.selection.of(turn.agent.registry.snapshot(), step.chat.channel)
    fits = turn.agent.selection.fits(step.chat.channel)
    batch = turn.batch(step, turn.agent.gate.offered(step, request_of(turn, snapshot), fits), snapshot)
    batch = replace(batch, ids=names(reply))
    ours, theirs = divided(batch, tuple(left(batch, turn.transcript, reply)))
    ends = await run_calls(batch, ours, turn.record) or bool(theirs)
    if ends:
        await hand_over(turn, theirs)
    return ends


async def _join(turn: Turn, heard: ModelAnswer) -> Batch:
    """The reply becomes part of the conversation, the last one with the end of the turn, and whoever watches hears of
    it. Its calls as they are run, under the ids that the journal knows them by."""
    said, reply, answer, batch = heard.said, heard.reply, heard.answer, heard.batch
    if reply.usage is not None:
        turn.transcript.spend(reply.usage)
    message = Message("assistant", said.text, tuple(it.recorded for it in said.calls), reasoning=reply.reasoning)
    # What a hook withholds is said to be so: in the place of an answer, and beside calls.
    withheld = (turn.line(heard.told, "notice"),) if heard.told else ()
    if said.calls:
        seen = "" if answer is None else answer.text
        calls = tuple(record(batch, it) for it in said.calls)
        draft = Draft(message, calls, shown=None if seen == said.text else seen)
        if turn.outlet.keeps_parts and seen.strip() and answer is not None:
            withheld = (*withheld, answer)
        (entry,) = await turn.transcript.append(draft, outbox=withheld)
        batch = replace(batch, ids=names(entry))
    elif said.fault:
        await turn.transcript.append(Draft(message, shown=""), outbox=withheld)
    else:
        await turn.end(message, outbox=withheld if answer is None else (*withheld, answer))
    if reply.usage is not None:
        turn.transcript.measure(reply.usage.total_tokens)
    visible = None if answer is None else turn.redactor.text(answer.text)
    stop = "tool_use" if said.calls else "length" if reply.finish_reason == "length" else "end"
    asked = tuple(presentable(turn.redactor, call.call_or_blank) for call in said.calls)
    at = turn.transcript.entries[-1].at
    turn.emit(ReplyEnded(turn.redactor.text(said.text), visible, asked, stop, usage=reply.usage, at=at), batch.step)
    if withheld:
        await turn.flush()
    if turn.within is not None and asked:
        turn.within.tell(f"{turn.agent.name}: {', '.join(call.name for call in asked)}\n")
    return batch


async def _failed(turn: Turn, error: Exception) -> None:
    """The line that stands where an answer should; what people have read of one stays in the conversation."""
    progress, said = turn.progress, str(error)
    progress.failure = error
    match error:
        case TurnAborted():
            pass
        case StepLimitReached():
            progress.status = "step_limit"
        case ProviderFailed():
            progress.status = "error"
            turn.emit(ErrorEvent("llm", error.reason), progress.step or turn.step(0))
            # In a chat with other people an endpoint's own words say too much: they are in the log.
            if turn.outlet.policy.show_errors != "full":
                log.warning("model_failed", session=turn.transcript.conversation.session, why=error.reason)
            why = f": {error.reason}" if turn.outlet.policy.show_errors == "full" else "."
            said = f"The model call failed ({error.kind}){why}"
        case _:
            log.exception("turn_crashed", session=turn.transcript.conversation.session, turn=turn.id)
            said = f"Something went wrong inside hookgate; the log has it under {turn.id}."
    outbox = (*turn.left, turn.line(said, "error")) if turn.within is None else ()
    if turn.transcript.claim is not None:
        await turn.end(*progress.read, outbox=outbox)
    else:
        await turn.journal.posting.post(turn.agent.name, outbox)
