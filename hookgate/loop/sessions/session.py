"""One conversation: its transcript, its queue of jobs, its running turn. One job at a time."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, suppress

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.delivery.outlet import Outlet
from hookgate.loop.doors.doors import SHUT_OUT
from hookgate.loop.model.compaction import compacted
from hookgate.loop.sessions.carried import Carried
from hookgate.loop.sessions.claims import LEASE_S
from hookgate.loop.sessions.current import CurrentTranscript
from hookgate.loop.sessions.jobs import RENEWED, STOPPED, Compaction, End, Job, Jobs, Prompt
from hookgate.loop.sessions.transcript import Transcript
from hookgate.loop.slots import Shared, Slot
from hookgate.loop.turn import run_turn
from hookgate.loop.turn_state import Turn
from hookgate.protocol import call_context
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.errors import SessionAborted
from hookgate.protocol.events.inside import SessionBegan, SessionEnded
from hookgate.protocol.journal.values import Conversation, Fenced, Outcome
from hookgate.protocol.values import Message, Step
from hookgate.tools.memo import Memo

log = structlog.get_logger("hookgate.loop")

CRASHED = "something went wrong inside hookgate; its log has what"


class Session:
    """Each queued message gets its answer, in order.

    `agent` may be exchanged at any time; a turn keeps the one that it began with. `jobs` is the conversation's only
    queue; whoever fills it has `run` called, which does nothing where it runs already. `current` has what was said,
    as far as it has been loaded: it is when the first job begins.
    """

    def __init__(self, agent: Agent, outlet: Outlet, key: str, shared: Shared) -> None:
        self.key = key
        self.agent = agent
        self.jobs = Jobs()
        self.carried = Carried()
        self.store_failed: Callable[[], None] = lambda: None
        self._shared = shared
        self._outlet = outlet
        self.current = CurrentTranscript(shared.journal, Conversation(key, agent.name))
        self._running = False
        self._refused = ""
        self._aborted: SessionAborted | None = None
        self._opened: Step | None = None
        self._turn: Turn | None = None

    @property
    def transcript(self) -> Transcript:
        return self.current.transcript

    @property
    def busy(self) -> bool:
        """Whether a job runs."""
        return self.jobs.current is not None

    def steer(self, prompt: Prompt) -> bool:
        """Whether it joins the running turn."""
        return self._turn is not None and self._turn.takes(prompt)

    def belongs(self, prompt: Prompt) -> bool:
        """Whether it is a late part of what the running turn answers."""
        album = prompt.inbound.album
        return bool(album) and self._turn is not None and self._turn.inbound.album == album

    def stop(self, why: str) -> bool:
        """End the running turn now, or the one about to begin; the user's message stays in the transcript.

        False when there is none, or when it is ending already.
        """
        job = self.jobs.next
        if job is None or job.scope.cancel_called:
            return False
        job.stopped = why
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

    def renew(self, conversation: Conversation | None = None, *, ends: bool = True) -> int:
        """Begin a new conversation: what runs ends, what was said is forgotten. Returns how many waiting messages
        were dropped. `conversation`: the next one, where a stored message has begun it; else the next job does.
        Without `ends` what runs goes on in the old one, and what waits belongs to the new."""
        self.agent.around.forget(self.key)
        self.close("session_switch")
        dropped = self.jobs.drop() if ends else 0
        self.carried.clear()
        self.current.renew(conversation)
        if self.jobs.current is not None and ends:
            self.jobs.current.stopped = RENEWED
            if self._turn is not None:
                self._turn.progress.renewed = True
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
                except Fenced:
                    if not self.jobs.step_back(job):
                        log.warning("work_is_somebody_elses", session=self.key)
                except StoreFailed as error:
                    end = End("failed", self.agent.around.redactor.text(f"the store failed: {error}"))
                    log.warning("store_failed", session=self.key, why=str(error))
                    self.store_failed()
                except Exception:
                    end = End("failed", CRASHED)
                    log.exception("job_crashed", session=self.key)
                finally:
                    self.jobs.done(job, end)
        finally:
            self._running = False

    async def renew_lease(self) -> None:
        """Of the job that runs, if one does. Where somebody else has it by now, the next write finds that out."""
        with suppress(Fenced):
            await self._held.renew(LEASE_S)

    def close(self, why: str) -> None:
        """The conversation is over; whoever hears of sessions is told, once."""
        if self._opened is not None:
            self.agent.gate.events.emit(SessionEnded(self.key, why), self._opened)
        self._opened = None

    def _open(self, chat: Chat) -> None:
        if self._opened is None:
            self._opened = self.agent.step("", Inbound(chat, ""))
            self.agent.gate.events.emit(SessionBegan(self.key), self._opened)

    async def _do(self, job: Job) -> End:
        """Begin a job and bring it to its end. What ends it before its time is told in the chat."""
        if isinstance(job.work, Prompt) and self._shared.doors.shuts_out(job.work.inbound):
            job.refused = SHUT_OUT
        if job.refused:
            if isinstance(job.work, Prompt) and job.work.accepted is not None:
                await self._shared.journal.intake.settle(job.work.accepted.id, "refused", why=job.refused)
            return End("refused", job.refused)
        self._open(job.work.chat)
        transcript: Transcript | None = None
        self._aborted, self._turn, self._refused, end = None, None, "", End("cancelled")
        self._outlet = replace(self._outlet, policy=self._shared.policy(job.work.chat.channel))
        try:
            with job.scope as scope:
                await job.begin()
                async with Slot(self._shared.slots_of(job.work.chat)) as slot:
                    # What a person said stays, however early they stop it.
                    with trio.CancelScope(shield=True):
                        transcript = await self._begin(job)
                    assert transcript is not None  # noqa: S101 - a shield lets nothing through
                    if isinstance(job.work, Compaction):
                        end = await self._compact(job.work, transcript)
                    else:
                        self._turn = turn = self._turn_of(job.work.inbound, transcript, slot)
                        self.jobs.let_join(lambda it: isinstance(it, Prompt) and self.belongs(it) and self.steer(it))
                        with self._heeding():
                            await run_turn(turn)
                        end = End("done")
            if scope.cancelled_caught or self._aborted is not None:
                transcript = await self._begin(job) if transcript is None else transcript
                await self._cut_off(job, transcript)
        except BaseException:
            with trio.move_on_after(LEASE_S, shield=True):
                await (self._held if transcript is None else transcript).release()
            raise
        self._turn = None
        if isinstance(job.work, Prompt) and (self._outlet.policy.busy == "steer" or job.work.inbound.album):
            await self._queue_again()
        return end

    @contextmanager
    def _heeding(self) -> Generator[None]:
        """A hook may stop everything here from inside the turn."""
        try:
            yield
        except SessionAborted as error:
            self._refuse(error)
            self._aborted = error

    def _turn_of(self, inbound: Inbound, transcript: Transcript, slot: Slot) -> Turn:
        return Turn(
            agent=self.agent,
            outlet=self._outlet,
            transcript=transcript,
            inbound=inbound,
            id=self._turn_id(),
            journal=self._shared.journal,
            slot=slot,
            memo=Memo(self.agent.around.memo),
            carried=self.carried,
        )

    async def let_go(self) -> None:
        """Of what a job that broke off holds still, where the store could not be told. Raises StoreFailed."""
        if not self.busy:
            await self._held.release()

    @property
    def _held(self) -> Transcript:
        return self.transcript if self._turn is None else self._turn.transcript

    async def _queue_again(self) -> None:
        """Messages that were to join a turn and that no model has read get turns of their own."""
        for left in await self._shared.journal.intake.unfinished():
            accepted = left.accepted
            if accepted.conversation == self.transcript.conversation and not self.jobs.holds(accepted):
                self.jobs.offer(job := Job(Prompt(left.inbound, accepted)), resumed=True)
                job.refused = self._refused
                self.current.go_to(accepted.conversation)

    async def _begin(self, job: Job) -> Transcript:
        """What the job is written to, from here on by nobody else; what was said is the first of it. Raises Fenced
        where it has ended, or somebody else has it."""
        said = job.work.inbound if isinstance(job.work, Prompt) and not self.agent.gate.judges_messages else None
        taken = await self.current.claim(job.work, self.agent.name, said)
        if taken is None:
            # A message that is given up leaves a line for its chat, and what had joined it waits again.
            self._outlet.delivery.wake(job.work.chat)
            await self._queue_again()
            raise Fenced(self.key)
        transcript, claim = taken
        if claim.stopped:
            job.stopped = job.stopped or STOPPED
            job.scope.cancel()
        return transcript

    async def _cut_off(self, job: Job, transcript: Transcript) -> None:
        """Somebody has stopped it. What people have read stays in the conversation, unless a hook takes all back."""
        chat = job.work.chat
        if self._aborted is not None:
            if transcript.claim is not None:
                await transcript.rewind()
            text = self.agent.around.redactor.text(str(self._aborted))
            await self._end(transcript, "refused", (), [Outbound(chat, text, kind="error")], text)
            return
        # A conversation that was begun anew meanwhile has nothing to hear of the old one's end.
        outbox = [Outbound(chat, "Stopped.", kind="notice")] if transcript is self.transcript else []
        read, left = (self._turn.progress.read, self._turn.left) if self._turn is not None else ((), ())
        await self._end(transcript, "dropped", read, [*left, *outbox], job.stopped)

    async def _compact(self, job: Compaction, transcript: Transcript) -> End:
        step = self.agent.step(self._turn_id(), Inbound(job.chat, ""))
        end, line = await compacted(self.agent, transcript, step)
        await self._end(transcript, "answered", (), [line])
        return end

    def _refuse(self, error: SessionAborted) -> None:
        self.agent.around.forget(self.key)
        self._refused = self.agent.around.redactor.text(str(error))
        self.jobs.refuse(self._refused)

    async def _end(
        self,
        transcript: Transcript,
        outcome: Outcome,
        read: Sequence[Message],
        outbox: Sequence[Outbound],
        why: str = "",
    ) -> None:
        """The job's end, unless it has one, with what people are told of it, who may have to wait for that."""
        if transcript.claim is not None:
            await transcript.end(outcome, *read, outbox=outbox, why=why)
        elif outbox:
            await self._shared.journal.posting.post(self.agent.name, outbox)
        for it in outbox:
            await self._outlet.delivery.flush(it.chat)

    def _turn_id(self) -> str:
        return f"{self.agent.name}-turn-{next(self.agent.numbers)}"
