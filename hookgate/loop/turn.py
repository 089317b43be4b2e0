"""One turn, from an Inbound to its Outbound: ask the model, run what it asked for, repeat."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from time import perf_counter_ns

import structlog

from hookgate.loop.agent import Agent
from hookgate.loop.batch import Batch, Settled
from hookgate.loop.calls import run_calls
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.incoming import let_in, take_news
from hookgate.loop.model.attached import kept
from hookgate.loop.model.compaction import make_room
from hookgate.loop.model.model_step import Heard, ask_with_room, request_of
from hookgate.loop.reply_calls import TextCalls
from hookgate.loop.sessions.jobs import Prompt
from hookgate.loop.sessions.resume import last_reply, left, names, record, replies
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.slots import Slot
from hookgate.protocol.errors import ProviderFailed, SessionAborted, StepLimitReached, TurnAborted
from hookgate.protocol.events.inside import PicturesKept, Prompted, ReplyEnded
from hookgate.protocol.events.payloads import ErrorEvent, Payload, TurnEnd, TurnStart
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Draft, Fenced
from hookgate.protocol.redacting import presentable
from hookgate.protocol.values import Inbound, LLMRequest, Message, Outbound, OutboundKind, Step
from hookgate.tools.memo import Memo
from hookgate.tools.registry import Snapshot

log = structlog.get_logger("hookgate.loop")

MAX_STEERING = 32
CORRECTION = (
    "Your last message began a tool call that cannot be read: {}. Send it again as a proper tool call, or answer "
    "without one."
)


@dataclass
class Progress:
    """How far a turn has come, for its end, whatever that is. `read`: what people have read of a reply that broke off
    and stands in no transcript yet."""

    step: Step | None = None
    status: str = "aborted"
    answer: str = ""
    iterations: int = 0
    read: tuple[Message, ...] = ()


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
    progress: Progress = field(default_factory=Progress)
    steering: deque[Prompt] = field(default_factory=deque[Prompt])
    """Messages that are to join it; what is left of a reply's calls is skipped for them."""

    @property
    def redactor(self) -> Redactor:
        return self.agent.around.redactor

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
        parts = (self.agent, self.outlet, self.transcript.held, step, request, snapshot, self.journal)
        rest = (self.memo, self.used, self.slot.given_back)
        return Batch(*parts, *rest, interrupted=lambda: bool(self.steering), cut_off=self.transcript.cut_off)

    def line(self, text: str, kind: OutboundKind) -> Outbound:
        """As people read it, without secrets."""
        return Outbound(self.inbound.chat, self.redactor.text(text), kind=kind)

    @property
    def left(self) -> tuple[Outbound, ...]:
        """What people have read of a reply that broke off, where that stays."""
        read = self.progress.read if self.outlet.keeps_parts else ()
        return tuple(self.line(it.content, "answer") for it in read)

    async def flush(self) -> None:
        """Until what is stored for the chat is there, so that what comes next comes after it."""
        await self.outlet.delivery.flush(self.inbound.chat, self.slot.given_back)

    async def record(self, call_id: str, done: Settled) -> None:
        """The result of a call becomes part of the conversation, with what people read of it."""
        result, chat = done.result, self.inbound.chat
        media = () if result.response_handled else await kept(result.media, self.agent.around, chat)
        message = Message("tool", result.for_llm, tool_call_id=call_id, media=media)
        await self.transcript.append(Draft(message), outbox=done.outbox, audits=done.audits)
        if media:
            self.emit(PicturesKept(call_id, media), self.progress.step or self.step(0))
        if done.outbox:
            await self.flush()


async def run_turn(turn: Turn) -> None:
    """Answer the message, which is the last of the transcript, or go on where a crash cut that off; every failure is
    one plain line in the chat.

    Raises SessionAborted, Fenced and Cancelled: whoever called ends the claim then, and has the chat told.
    """
    began, progress = perf_counter_ns(), turn.progress
    turn.emit(TurnStart(turn.inbound.text, len(turn.inbound.media)), turn.step(0))
    try:
        try:
            progress.answer = await _converse(turn)
            progress.status = "completed"
        except (SessionAborted, Fenced):
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
    progress, before = turn.progress, replies(turn.transcript)
    inbound = turn.inbound if turn.transcript.turn else await let_in(turn)
    if inbound is None:
        return progress.answer
    turn = replace(turn, inbound=inbound)
    begins = CORRECTION.partition("{}")[0]
    corrected = any(
        it.message.role == "user" and it.message.content.startswith(begins) for it in turn.transcript.turn
    )
    turn.emit(Prompted(turn.inbound), turn.step(0))
    if before:
        await _go_on(turn, before)
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
            return heard.answer.text if heard.answer is not None else ""
        elif await run_calls(batch, said.calls, turn.record):
            await turn.transcript.end("answered")
            return ""
    tried = f"after {turn.agent.max_steps} model calls in one turn (agent.max_steps) it still wanted to run tools"
    raise StepLimitReached(f"I stopped: {tried}.")


async def _go_on(turn: Turn, before: int) -> None:
    """The calls that a crash has left of the last reply."""
    reply = last_reply(turn.transcript)
    if reply is None:
        return
    step = turn.progress.step = replace(turn.step(before - 1), resumed=True)
    snapshot = turn.agent.selection.of(turn.agent.registry.snapshot(), step.chat.channel)
    batch = turn.batch(step, turn.agent.gate.offered(step, request_of(turn, snapshot)), snapshot)
    batch = replace(batch, ids=names(reply))
    await run_calls(batch, tuple(left(batch, turn.transcript, reply)), turn.record)


async def _join(turn: Turn, heard: Heard) -> Batch:
    """The reply becomes part of the conversation, the last one with the end of the turn, and whoever watches hears of
    it. Its calls as they are run, under the ids that the journal knows them by."""
    said, reply, answer, batch = heard.said, heard.reply, heard.answer, heard.batch
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
        await turn.transcript.end("answered", message, outbox=withheld if answer is None else (*withheld, answer))
    if reply.usage is not None:
        turn.transcript.measure(reply.usage.total_tokens)
    visible = None if answer is None else turn.redactor.text(answer.text)
    stop = "tool_use" if said.calls else "length" if reply.finish_reason == "length" else "end"
    asked = tuple(presentable(turn.redactor, call.call_or_blank) for call in said.calls)
    turn.emit(ReplyEnded(turn.redactor.text(said.text), visible, asked, stop, usage=reply.usage), batch.step)
    if withheld:
        await turn.flush()
    return batch


async def _failed(turn: Turn, error: Exception) -> None:
    """The line that stands where an answer should; what people have read of one stays in the conversation."""
    progress, said = turn.progress, str(error)
    match error:
        case TurnAborted():
            pass
        case StepLimitReached():
            progress.status = "step_limit"
        case ProviderFailed():
            progress.status = "error"
            turn.emit(ErrorEvent("llm", error.reason), progress.step or turn.step(0))
            # In a chat with other people an endpoint's own words say too much.
            why = f": {error.reason}" if turn.outlet.policy.show_errors == "full" else "."
            said = f"The model call failed ({error.kind}){why}"
        case _:
            log.exception("turn_crashed", session=turn.transcript.conversation.session, turn=turn.id)
            said = f"Something went wrong inside hookgate; the log has it under {turn.id}."
    outbox = (*turn.left, turn.line(said, "error"))
    if turn.transcript.claim is not None:
        await turn.transcript.end("answered", *progress.read, outbox=outbox)
    else:
        await turn.journal.posting.post(turn.agent.name, outbox)
