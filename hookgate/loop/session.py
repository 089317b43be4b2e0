"""One conversation: its transcript, its queue of jobs, its running turn. One job at a time."""

from __future__ import annotations

from collections import deque

import structlog

from hookgate.loop.agent import Agent
from hookgate.loop.claims import BY, LEASE_S
from hookgate.loop.compaction import EmptySummary, NothingToCompact, compact
from hookgate.loop.jobs import Compaction, End, Job, Jobs, Prompt
from hookgate.loop.transcript import Transcript
from hookgate.loop.turn import Turn, run_turn
from hookgate.protocol.errors import ProviderFailed, SessionAborted, TurnAborted
from hookgate.protocol.events.inside import SessionBegan, SessionEnded
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Arrival, Claim, Conversation, Fenced
from hookgate.protocol.values import Chat, Inbound, Outbound, Step
from hookgate.tools import call_context
from hookgate.tools.memo import Memo

log = structlog.get_logger("hookgate.loop")

MAX_NEWS = 32


class Session:
    """Each queued message gets its answer, in order.

    `agent` may be exchanged at any time; a turn keeps the one that it began with. `jobs` is the conversation's only
    queue; whoever fills it has `run` called, which does nothing where it runs already.
    """

    def __init__(self, agent: Agent, channel: Channel, key: str, journal: Journal) -> None:
        self.key = key
        self.transcript = Transcript()
        self.agent = agent
        self.jobs = Jobs()
        self._journal = journal
        self._channel = channel
        self._running = False
        self._aborted: SessionAborted | None = None
        self._opened: Step | None = None
        self._used: set[str] = set()
        self._native: set[str] = set()
        self._news: deque[str] = deque(maxlen=MAX_NEWS)

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self.jobs.current is not None

    def tell(self, provider: str, text: str) -> bool:
        """Something that a provider of tools reports, for the model's next call; False where its tools are not used.

        Of more than MAX_NEWS that wait the oldest go.
        """
        if provider in self._used:
            self._news.append(text)
        return provider in self._used

    def stop(self) -> bool:
        """End the running turn now, or the one about to begin; the user's message stays in the transcript.

        False when there is none, or when it is ending already.
        """
        job = self.jobs.next
        if job is None or job.scope.cancel_called:
            return False
        job.scope.cancel()
        return True

    def abort(self, error: SessionAborted) -> bool:
        """A hook stops everything here from outside the turn: that is taken back, and what waits is refused.

        False where nothing runs; else people hear of it when the turn has ended.
        """
        self._refuse(error)
        current = self.jobs.current
        if current is not None:
            self._aborted = error
            current.scope.cancel()
        return current is not None

    def renew(self) -> int:
        """Begin a new conversation: what runs ends, what was said is forgotten. Returns how many waiting messages
        were dropped."""
        self.agent.around.forget(self.key)
        self.close("session_switch")
        dropped = self.jobs.drop()
        self._news.clear()
        self._used.clear()
        self._native.clear()
        self.transcript = Transcript()
        if self.jobs.current is not None:
            self.jobs.current.scope.cancel()
        return dropped

    async def run(self) -> None:
        """Do what is queued, until nothing is. A second call while one runs returns at once."""
        if self._running:
            return
        self._running = True
        call_context.session.set(self.key)
        try:
            while (job := self.jobs.take()) is not None:
                end = End("dropped")
                try:
                    end = await self._do(job)
                finally:
                    self.jobs.done(job, end)
        finally:
            self._running = False

    def close(self, why: str) -> None:
        """The conversation is over; whoever hears of sessions is told, once."""
        if self._opened is not None:
            self.agent.gate.events.emit(SessionEnded(self.key, why), self._opened)
        self._opened = None

    def _open(self, chat: Chat) -> None:
        if self._opened is None:
            self._opened = Step(self.agent.name, "", Inbound(chat, ""), model=self.agent.model)
            self.agent.gate.events.emit(SessionBegan(self.key), self._opened)

    async def _do(self, job: Job) -> End:
        """Begin a job and bring it to its end. What ends it before its time is told in the chat."""
        if job.refused:
            return End("refused", job.refused)
        self._open(job.work.chat)
        transcript, begun, self._aborted, end = self.transcript, self.transcript.position, None, End("cancelled")
        claim = await self._claimed(job.work)
        job.begin()
        with job.scope as scope:
            if isinstance(job.work, Compaction):
                end = await self._compact(job.work)
            else:
                await self._answer(job.work.inbound, claim)
                end = End("done")
        await self._journal.work.complete(claim, "answered" if end.how == "done" else "dropped")
        if self._aborted is not None:
            transcript.rollback(begun)
            await self._tell_aborted(job.work.chat, self._aborted)
        # A conversation that was begun anew meanwhile has nothing to hear of the old one's end.
        elif scope.cancelled_caught and transcript is self.transcript:
            await self._tell(Outbound(job.work.chat, "Stopped.", kind="notice"))
        return end

    async def _claimed(self, work: Prompt | Compaction) -> Claim:
        conversation, message = Conversation(self.key, self.agent.name), ""
        if isinstance(work, Prompt):
            accepted = await self._journal.intake.accept(Arrival(work.inbound, self.agent.name, ""))
            conversation, message = accepted.conversation, accepted.id
        claim = await self._journal.work.claim(BY, LEASE_S, conversation, message)
        if claim is None:
            raise Fenced(conversation.id)
        return claim

    async def _compact(self, job: Compaction) -> End:
        redactor = self.agent.around.redactor
        step = Step(self.agent.name, self._turn_id(), Inbound(job.chat, ""), model=self.agent.model)
        try:
            done = await compact(self.agent, self.transcript, step)
        except Exception as error:
            reason = redactor.text(self._why_not(error, step.turn_id))
            await self._tell(Outbound(job.chat, f"Not compacted: {reason.rstrip('.')}.", kind="error"))
            return End("failed", reason)
        text = f"Compacted: {done.dropped} messages became a summary, {done.kept} stay as they are."
        await self._tell(Outbound(job.chat, text, kind="notice"))
        return End("done", summary=redactor.text(done.summary))

    def _why_not(self, error: Exception, turn_id: str) -> str:
        if isinstance(error, NothingToCompact | EmptySummary | ProviderFailed | TurnAborted):
            return str(error)
        log.error("compaction_crashed", session=self.key, turn=turn_id, exc_info=error)
        return f"Something went wrong inside hookgate; the log has it under {turn_id}."

    async def _answer(self, inbound: Inbound, claim: Claim) -> None:
        """Whatever goes wrong in one turn ends that turn, and the user hears of it."""
        parts = (self.agent, self._channel, self.transcript, claim, inbound, self._turn_id())
        memo = Memo(self.agent.around.memo)
        turn = Turn(*parts, memo=memo, used=self._used, news=self._news, native=self._native)
        try:
            await run_turn(turn)
        except SessionAborted as error:
            self._refuse(error)
            await self._tell_aborted(inbound.chat, error)
        except Exception:
            log.exception("turn_crashed", session=self.key, turn=turn.id)
            text = f"Something went wrong inside hookgate; the log has it under {turn.id}."
            await self._tell(Outbound(inbound.chat, text, kind="error"))

    def _refuse(self, error: SessionAborted) -> None:
        self.agent.around.forget(self.key)
        self.jobs.refuse(self.agent.around.redactor.text(str(error)))

    async def _tell_aborted(self, chat: Chat, error: SessionAborted) -> None:
        await self._tell(Outbound(chat, self.agent.around.redactor.text(str(error)), kind="error"))

    async def _tell(self, outbound: Outbound) -> None:
        """A channel that fails now must not take the other conversations down with it."""
        try:
            await self._channel.send(outbound)
        except Exception:
            log.exception("message_undelivered", session=self.key, kind=outbound.kind)

    def _turn_id(self) -> str:
        return f"{self.agent.name}-turn-{next(self.agent.numbers)}"
