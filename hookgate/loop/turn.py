"""One turn, from an Inbound to its Outbound: ask the model, run what it asked for, repeat."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from functools import partial
from time import perf_counter_ns

import structlog

from hookgate.loop.agent import Agent
from hookgate.loop.batch import Batch, Settled
from hookgate.loop.calls import run_calls
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.incoming import let_in, take_steering
from hookgate.loop.model.compaction import make_room
from hookgate.loop.model.model_step import Heard, ask_with_room, request_of
from hookgate.loop.reply_calls import TextCalls
from hookgate.loop.sessions.jobs import Prompt
from hookgate.loop.sessions.resume import last_reply, left, names, record, replies
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.slots import Slot
from hookgate.protocol.errors import ProviderFailed, SessionAborted, StepLimitReached, TurnAborted
from hookgate.protocol.events.inside import Prompted, ReplyEnded
from hookgate.protocol.events.payloads import ErrorEvent, Payload, SteeringInjected, TurnEnd, TurnStart
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import (
    Inbound,
    LLMRequest,
    Message,
    Outbound,
    OutboundKind,
    Step,
)
from hookgate.tools.memo import Memo
from hookgate.tools.registry import Snapshot

log = structlog.get_logger("hookgate.loop")

MAX_STEERING = 32
CORRECTION = (
    "Your last message began a tool call that cannot be read: {}. Send it again as a proper tool call, or answer "
    "without one."
)


@dataclass(frozen=True)
class Turn:
    agent: Agent
    outlet: Outlet
    transcript: Transcript
    inbound: Inbound
    id: str
    journal: Journal
    slot: Slot
    memo: Memo = field(default_factory=Memo)
    used: set[str] = field(default_factory=set[str])
    news: deque[str] = field(default_factory=deque[str])
    """What came from outside for the model, and joins the conversation before its next call."""
    native: set[str] = field(default_factory=set[str])
    """The models that have made a structured call in this conversation: what they write as text is text."""
    progress: Progress = field(default_factory=lambda: Progress())
    steering: deque[Prompt] = field(default_factory=deque[Prompt])
    """Messages that are to join it; what is left of a reply's calls is skipped for them."""

    def step(self, iteration: int) -> Step:
        return Step(self.agent.name, self.id, self.inbound, iteration, model=self.agent.model)

    def emit(self, payload: Payload, step: Step) -> None:
        self.agent.gate.events.emit(payload, step)

    def takes(self, prompt: Prompt) -> bool:
        """Whether it joins: what the one says who is answered here, for nobody's words carry the rights of another;
        nothing that takes back what was said."""
        said, accepted = prompt.inbound, prompt.accepted
        if accepted is None or self.transcript.claim is None or said.replaces or len(self.steering) >= MAX_STEERING:
            return False
        if (accepted.conversation, said.chat) != (self.transcript.conversation, self.inbound.chat):
            return False
        self.steering.append(prompt)
        return True

    def text_calls(self, model: str) -> TextCalls:
        return "off" if model in self.native else self.agent.text_calls

    def batch(self, step: Step, request: LLMRequest, snapshot: Snapshot) -> Batch:
        """For the calls of a reply to this request."""
        parts = (self.agent, self.outlet, self.transcript.held, step, request, snapshot)
        rest = (self.memo, self.used, self.slot.given_back)
        cut_off = self.transcript.cut_off
        return Batch(*parts, self.journal, *rest, interrupted=lambda: bool(self.steering), cut_off=cut_off)

    def line(self, text: str, kind: OutboundKind) -> Outbound:
        """As people read it, without secrets."""
        return Outbound(self.inbound.chat, self.agent.around.redactor.text(text), kind=kind)

    @property
    def left(self) -> tuple[Outbound, ...]:
        """What people have read of a reply that broke off, where that stays."""
        read = self.progress.read if self.outlet.keeps_parts else ()
        return tuple(self.line(it.content, "answer") for it in read)

    async def flush(self) -> None:
        """Until what is stored for the chat is there, so that what comes next comes after it."""
        await self.outlet.delivery.flush(self.inbound.chat, self.slot.given_back)


class Progress:
    """How far a turn has come, for its end, whatever that is. `read`: what people have read of a reply that broke off
    and stands in no transcript yet."""

    def __init__(self) -> None:
        self.step: Step | None = None
        self.status = "aborted"
        self.answer = ""
        self.iterations = 0
        self.read: tuple[Message, ...] = ()


async def run_turn(turn: Turn) -> None:
    """Answer the message, which is the last of the transcript, or go on where a crash cut that off; every failure is
    one plain line in the chat.

    Raises SessionAborted and Cancelled: whoever called ends the claim then, and has the chat told.
    """
    started, progress = perf_counter_ns(), turn.progress
    events, first = turn.agent.gate.events, turn.step(0)
    events.emit(TurnStart(turn.inbound.text, len(turn.inbound.media)), first)
    try:
        await _outcome(turn)
        await turn.flush()
    finally:
        turn.memo.clear()
        duration = perf_counter_ns() - started
        end = TurnEnd(progress.status, progress.iterations, duration, len(progress.answer))
        events.emit(end, progress.step or first)


async def _outcome(turn: Turn) -> None:
    """The answer, or the line that stands for it, stored as the end of the turn."""
    progress = turn.progress
    try:
        progress.answer = await _converse(turn)
        progress.status = "completed"
    except SessionAborted:
        raise
    except TurnAborted as error:
        await _failed(turn, str(error))
    except StepLimitReached as error:
        progress.status = "step_limit"
        await _failed(turn, str(error))
    except ProviderFailed as error:
        progress.status = "error"
        turn.agent.gate.events.emit(ErrorEvent("llm", error.reason), progress.step)
        # In a chat with other people an endpoint's own words say too much.
        said = f": {error.reason}" if turn.outlet.policy.show_errors == "full" else "."
        await _failed(turn, f"The model call failed ({error.kind}){said}")


async def _converse(turn: Turn) -> str:
    """The answer; empty where tools have delivered everything, or a hook withholds it."""
    progress, before = turn.progress, replies(turn.transcript)
    inbound = turn.inbound if turn.transcript.turn else await let_in(turn)
    if inbound is None:
        return progress.answer
    turn = replace(turn, inbound=inbound)
    corrected = any(_is_correction(entry.message) for entry in turn.transcript.turn)
    turn.emit(Prompted(turn.inbound), turn.step(0))
    if before:
        await _go_on(turn, before)
    for iteration in range(before, turn.agent.max_steps):
        progress.step, progress.iterations = turn.step(iteration), iteration + 1
        await _take_news(turn, progress.step)
        await take_steering(turn, progress.step)
        await make_room(turn.agent, turn.transcript, progress.step)
        heard = await ask_with_room(turn, progress.step)
        said, batch = heard.said, await _join(turn, heard)
        if said.fault:
            if corrected:
                raise ProviderFailed("format", f"it keeps writing a tool call that cannot be read: {said.fault}")
            corrected = True
            await turn.transcript.append(Draft(Message("user", CORRECTION.format(said.fault))))
        elif not said.calls:
            return heard.answer.text if heard.answer is not None else ""
        elif await run_calls(batch, said.calls, partial(_record, turn)):
            await turn.transcript.end("answered")
            return ""
    tried = f"after {turn.agent.max_steps} model calls in one turn (agent.max_steps) it still wanted to run tools"
    raise StepLimitReached(f"I stopped: {tried}.")


def _is_correction(message: Message) -> bool:
    return message.role == "user" and message.content.startswith(CORRECTION.partition("{}")[0])


async def _go_on(turn: Turn, before: int) -> None:
    """The calls that a crash has left of the last reply."""
    reply = last_reply(turn.transcript)
    if reply is None:
        return
    step = turn.progress.step = replace(turn.step(before - 1), resumed=True)
    snapshot = turn.agent.selection.of(turn.agent.registry.snapshot(), step.chat.channel)
    batch = turn.batch(step, turn.agent.gate.offered(step, request_of(turn, snapshot)), snapshot)
    batch = replace(batch, ids=names(reply))
    await run_calls(batch, tuple(left(batch, turn.transcript, reply)), partial(_record, turn))


async def _take_news(turn: Turn, step: Step) -> None:
    if texts := tuple(turn.news):
        await turn.transcript.append(*(Draft(Message("user", text)) for text in texts))
        turn.news.clear()
        turn.emit(SteeringInjected(len(texts), sum(map(len, texts))), step)


async def _join(turn: Turn, heard: Heard) -> Batch:
    """The reply becomes part of the conversation, the last one with the end of the turn, and whoever watches hears of
    it. Its calls as they are run, under the ids that the journal knows them by."""
    said, reply, batch = heard.said, heard.reply, heard.batch
    message = Message("assistant", said.text, tuple(it.recorded for it in said.calls), reasoning=reply.reasoning)
    # What a hook withholds is said to be so: in the place of an answer, and beside calls.
    withheld = (turn.line(heard.told, "notice"),) if heard.told else ()
    if said.calls:
        seen = "" if heard.answer is None else heard.answer.text
        shown = None if seen == said.text else seen
        draft = Draft(message, tuple(record(batch, it) for it in said.calls), shown=shown)
        if turn.outlet.keeps_parts and heard.answer is not None and heard.answer.text.strip():
            withheld = (*withheld, heard.answer)
        (entry,) = await turn.transcript.append(draft, outbox=withheld)
        batch = replace(batch, ids=names(entry))
    elif said.fault:
        await turn.transcript.append(Draft(message, shown=""), outbox=withheld)
    else:
        answer = () if heard.answer is None else (heard.answer,)
        await turn.transcript.end("answered", message, outbox=(*withheld, *answer))
    if reply.usage is not None:
        turn.transcript.measure(reply.usage.total_tokens)
    redactor = turn.agent.around.redactor
    visible = None if heard.answer is None else redactor.text(heard.answer.text)
    stop = "tool_use" if said.calls else "length" if reply.finish_reason == "length" else "end"
    asked = tuple(presentable(redactor, call.call_or_blank) for call in said.calls)
    turn.emit(ReplyEnded(redactor.text(said.text), visible, asked, stop, usage=reply.usage), batch.step)
    if withheld:
        await turn.flush()
    return batch


async def _record(turn: Turn, call_id: str, done: Settled) -> None:
    result, outbox = done.result, done.outbox
    media = () if result.response_handled else result.media
    message = Message("tool", result.for_llm, tool_call_id=call_id, media=media)
    await turn.transcript.append(Draft(message), outbox=outbox, audits=done.audits)
    if outbox:
        await turn.flush()


async def _failed(turn: Turn, text: str) -> None:
    """The line that stands where an answer should; what people have read of one stays in the conversation."""
    await turn.transcript.end("answered", *turn.progress.read, outbox=[*turn.left, turn.line(text, "error")])
