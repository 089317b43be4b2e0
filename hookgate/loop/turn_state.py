"""A turn under way: what it is made with, what has come for it meanwhile, how far it is. Runs nothing."""

from __future__ import annotations

from collections import deque
from collections.abc import Container, Sequence
from dataclasses import field

from hookgate.hooks.verdicts import Dropped
from hookgate.loop.agent import Agent
from hookgate.loop.attachments import kept, sendable
from hookgate.loop.calls.answers import Answers, answers_about
from hookgate.loop.calls.batch import Batch, Settled
from hookgate.loop.calls.reply_calls import TextCalls
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.nested.within import Within
from hookgate.loop.sessions.carried import Carried
from hookgate.loop.sessions.jobs import Prompt
from hookgate.loop.sessions.transcript import Transcript, told
from hookgate.loop.slots import Slot
from hookgate.protocol.chat import Inbound, Outbound, OutboundKind
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.inside import PicturesKept
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import LLMRequest, Message, Step
from hookgate.tools.memo import Memo
from hookgate.tools.registry import Snapshot

MAX_STEERING = 32


@dataclass
class Progress:
    """How far a turn has come, for its end, whatever that is. `read`: what people have read of a reply that broke off
    and stands in no transcript yet. `failure`: what ended it. `renewed`: another conversation has begun in its
    chat."""

    step: Step | None = None
    status: str = "aborted"
    answer: str = ""
    iterations: int = 0
    read: tuple[Message, ...] = ()
    failure: Exception | None = None
    renewed: bool = False


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
    carried: Carried = field(default_factory=Carried)
    progress: Progress = field(default_factory=Progress)
    steering: deque[Prompt] = field(default_factory=deque[Prompt])
    """Messages that are to join it; what is left of a reply's calls is skipped for them."""
    taken: set[str] = field(default_factory=set[str])
    """The ids of those, and of those that have joined."""
    within: Within | None = None
    """The call that has begun it: nobody reads along, and its answer is that call's result."""

    @property
    def redactor(self) -> Redactor:
        return self.agent.around.redactor

    def step(self, iteration: int) -> Step:
        step = self.agent.step(self.id, self.inbound, iteration)
        return step if self.within is None else replace(step, parent_turn_id=self.within.parent)

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
        if accepted.id not in self.taken:
            self.taken.add(accepted.id)
            self.steering.append(prompt)
        return True

    def answers_about(self, message: str = "") -> Answers | None:
        """What hooks have said about the turn's message, or about another one, and about what answers it."""
        claim = self.transcript.held
        return answers_about(self.journal, claim, message or claim.message)

    def text_calls(self, model: str) -> TextCalls:
        return "off" if model in self.carried.native else self.agent.text_calls

    def batch(self, step: Step, request: LLMRequest, snapshot: Snapshot) -> Batch:
        """For the calls of a reply to this request."""
        told, its = self.transcript, self.within
        return Batch(
            agent=self.agent,
            outlet=self.outlet,
            claim=told.held,
            step=step,
            request=request,
            snapshot=snapshot,
            journal=self.journal,
            memo=self.memo,
            used=self.carried.used,
            slot=self.slot,
            within=its,
            within_writer="" if its is None else its.writer,
            interrupted=lambda: bool(self.steering),
            cut_off=told.cut_off,
            left=told.left,
            spend=told.spend,
        )

    def line(self, text: str, kind: OutboundKind) -> Outbound:
        """As people read it, without secrets."""
        return Outbound(self.inbound.chat, self.redactor.text(text), kind=kind)

    @property
    def left(self) -> tuple[Outbound, ...]:
        """What people have read of a reply that broke off, where that stays."""
        read = self.progress.read if self.outlet.keeps_parts else ()
        return tuple(self.line(it.content, "answer") for it in read)

    async def sends(self, step: Step, outbound: Outbound, recall: Answers | None) -> Outbound | Dropped:
        """What goes to the chat, as hooks leave it, with the files that can; for the others a line."""
        judged = await self.agent.gate.before_send(step, outbound, recall)
        if isinstance(judged, Dropped) or not judged.media:
            return judged
        return (await sendable(judged, self.agent.around, self.outlet.channel.limits)).told

    async def end(
        self, *messages: Message, outbox: Sequence[Outbound] = (), handed_over: Container[str] = ()
    ) -> None:
        """Its message is answered, which is on its way to the chat from here on."""
        await self.outlet.delivery.bring(
            self.transcript.end("answered", *messages, outbox=outbox, handed_over=handed_over)
        )

    async def flush(self) -> None:
        """Until what is stored for the chat is there, so that what comes next comes after it."""
        await self.outlet.delivery.flush(self.inbound.chat, self.slot.given_back)

    async def record(self, call_id: str, done: Settled, audit: CallAudit) -> None:
        """The result of a call becomes part of the conversation, with what people read of it."""
        result, chat = done.result, self.inbound.chat
        media = () if result.response_handled else await kept(result.media, self.agent.around, chat)
        draft = Draft(told(call_id, result, media), shown=done.skipped or None)
        await self.transcript.append(draft, outbox=done.outbox, audits=(audit,))
        if media:
            self.emit(PicturesKept(call_id, media), self.progress.step or self.step(0))
        if done.outbox:
            await self.flush()
