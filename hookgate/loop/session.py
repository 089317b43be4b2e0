"""One conversation: its transcript, its queue of messages, its running turn. One turn at a time."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import structlog
import trio

from hookgate.loop.agent import Agent
from hookgate.loop.compaction import EmptySummary, NothingToCompact, compact
from hookgate.loop.transcript import Transcript
from hookgate.loop.turn import Turn, run_turn
from hookgate.protocol.errors import ProviderFailed, SessionAborted, TurnAborted
from hookgate.protocol.inside import SessionBegan, SessionEnded
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.values import Chat, Inbound, Outbound, Step
from hookgate.tools import whose
from hookgate.tools.memo import Memo

log = structlog.get_logger("hookgate.loop")

MAX_QUEUED = 20
MAX_NEWS = 32


@dataclass(frozen=True)
class CompactionAsked:
    """Somebody wants the conversation summed up; it waits its turn like a message."""

    chat: Chat


Job = Inbound | CompactionAsked


class Session:
    """Each queued message gets its answer, in order; a full queue says so to whoever wrote.

    `agent` may be exchanged at any time; a turn keeps the one that it began with.
    """

    def __init__(self, agent: Agent, channel: Channel, key: str) -> None:
        self.key = key
        self.transcript = Transcript()
        self.busy = False
        self.agent = agent
        self._channel = channel
        self._queue: deque[Job] = deque()
        # Of the running turn, else of the next one: a message may be stopped before its turn has begun.
        self._turn = trio.CancelScope()
        self._running = False
        self._aborted: SessionAborted | None = None
        self._opened: Step | None = None
        self._used: set[str] = set()
        self._native: set[str] = set()
        self._news: deque[str] = deque(maxlen=MAX_NEWS)
        self._idle = trio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    def offer(self, job: Job) -> bool:
        """Queue a message, or a compaction; False when the queue is full."""
        if len(self._queue) >= MAX_QUEUED:
            return False
        self._queue.append(job)
        self._idle = trio.Event() if self._idle.is_set() else self._idle
        return True

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
        if self._turn.cancel_called or not (self.busy or self._queue):
            return False
        self._turn.cancel()
        return True

    def abort(self, error: SessionAborted) -> bool:
        """A hook stops everything here from outside the turn: that is taken back, and what waits is dropped.

        False where nothing runs; else people hear of it when the turn has ended.
        """
        self.agent.around.forget(self.key)
        self._queue.clear()
        if self.busy:
            self._aborted = error
            self._turn.cancel()
        return self.busy

    def renew(self) -> int:
        """Begin a new conversation: what runs ends, what was said is forgotten. Returns how many waiting messages
        were dropped."""
        dropped = len(self._queue)
        self.agent.around.forget(self.key)
        self.close("session_switch")
        self._queue.clear()
        self._news.clear()
        self._used.clear()
        self._native.clear()
        self.transcript = Transcript()
        self._turn.cancel()
        if not self.busy:
            # A /stop meant for what was dropped must not end the first turn of the new conversation.
            self._turn = trio.CancelScope()
        return dropped

    async def run(self) -> None:
        """Answer what is queued, until nothing is. A second call while one runs returns at once."""
        if self._running:
            return
        self._running = True
        whose.session.set(self.key)
        try:
            while self._queue:
                job = self._queue.popleft()
                self._open(job.chat)
                await self._answer(job)
        finally:
            self._running = False
            self._idle.set()

    def close(self, why: str) -> None:
        """The conversation is over; whoever hears of sessions is told, once."""
        if self._opened is not None:
            self.agent.gate.events.emit(SessionEnded(self.key, why), self._opened)
        self._opened = None

    def _open(self, chat: Chat) -> None:
        if self._opened is None:
            self._opened = Step(self.agent.name, "", Inbound(chat, ""), model=self.agent.model)
            self.agent.gate.events.emit(SessionBegan(self.key), self._opened)

    async def idle(self) -> None:
        """Until everything queued is answered."""
        await self._idle.wait()

    async def _answer(self, job: Job) -> None:
        transcript, begun = self.transcript, self.transcript.position
        self.busy, self._aborted = True, None
        with self._turn as scope:
            if isinstance(job, CompactionAsked):
                await self._compact(job)
            else:
                await self._guarded(self._begun(job))
        self.busy, self._turn = False, trio.CancelScope()
        if self._aborted is not None:
            transcript.rollback(begun)
            await self._tell_aborted(job.chat, self._aborted)
            return
        # A conversation that was begun anew meanwhile has nothing to hear of the old one's end.
        if scope.cancelled_caught and transcript is self.transcript:
            await self._tell(Outbound(job.chat, "Stopped.", kind="notice"))

    def _begun(self, inbound: Inbound) -> Turn:
        memo = Memo(self.agent.around.memo)
        turn_id = self._turn_id()
        parts = (self.agent, self._channel, self.transcript, inbound, turn_id)
        return Turn(*parts, memo=memo, used=self._used, news=self._news, native=self._native)

    async def _compact(self, job: CompactionAsked) -> None:
        step = Step(self.agent.name, self._turn_id(), Inbound(job.chat, ""), model=self.agent.model)
        try:
            done = await compact(self.agent, self.transcript, step)
        except (NothingToCompact, EmptySummary, ProviderFailed, TurnAborted) as error:
            await self._tell(Outbound(job.chat, f"Not compacted: {error}.", kind="error"))
            return
        text = f"Compacted: {done.dropped} messages became a summary, {done.kept} stay as they are."
        await self._tell(Outbound(job.chat, text, kind="notice"))

    async def _guarded(self, turn: Turn) -> None:
        """Whatever goes wrong in one turn ends that turn, and the user hears of it."""
        chat = turn.inbound.chat
        try:
            await run_turn(turn)
        except SessionAborted as error:
            self.agent.around.forget(self.key)
            self._queue.clear()
            await self._tell_aborted(chat, error)
        except Exception:
            log.exception("turn_crashed", session=self.key, turn=turn.id)
            text = f"Something went wrong inside hookgate; the log has it under {turn.id}."
            await self._tell(Outbound(chat, text, kind="error"))

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
