"""What a conversation is to do, one job at a time in the order asked for. Knows nothing of turns.

Whoever gives a job may wait for its end, cancel it, hear when it begins, and have something done before its work.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from time import time
from typing import Literal, Protocol

import trio

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Accepted

MAX_QUEUED = 20
MAX_NUMBER = 1 << 63
"""Of a message."""
STOPPED = "stopped in its chat"
WITHDRAWN = "the client left"
RENEWED = "a new conversation was begun"
"""Why a job ended before its time, for the journal."""


@dataclass(frozen=True)
class Prompt:
    """A message to be answered; `accepted`: where the journal has it already."""

    inbound: Inbound
    accepted: Accepted | None = None

    @property
    def chat(self) -> Chat:
        return self.inbound.chat


@dataclass(frozen=True)
class Compaction:
    """The older part of the conversation is to be summed up."""

    chat: Chat


@dataclass(frozen=True)
class End:
    """What became of a job. `done`: a prompt was answered, if only by a line that says what went wrong, or a
    compaction left its `summary`. `failed`: a compaction did not, or the store failed, or hookgate did; `reason` says
    why. `cancelled`: its giver or a person ended it. `refused`: a hook stopped everything that waited, for `reason`.
    `dropped`: it never ran, and nobody is told."""

    how: Literal["done", "failed", "cancelled", "refused", "dropped"]
    reason: str = ""
    summary: str = ""


class Giver(Protocol):
    """Hears of its job. Neither function waits or raises."""

    def began(self, job: Job) -> None: ...

    def ended(self, job: Job, end: End) -> None:
        """Also of a job that never began."""
        ...


class Job:
    """`scope` is the job's run; cancelling it before the job begins cuts it off at its first step. `stopped`:
    why somebody did. `begun_at`: seconds of the wall clock; 0: not yet. `before`: what is awaited, once, when it has
    begun and nothing of its work has."""

    def __init__(self, work: Prompt | Compaction, giver: Giver | None = None) -> None:
        self.work = work
        self.scope = trio.CancelScope()
        self.end: End | None = None
        self.refused = ""
        self.stopped = ""
        self.resumed = False
        self.begun_at = 0.0
        self.before: Callable[[], Awaitable[None]] | None = None
        self._giver = giver
        self._over = trio.Event()

    @property
    def number(self) -> float:
        """In the order of what the journal has taken in; what it has not comes last."""
        accepted = self.work.accepted if isinstance(self.work, Prompt) else None
        return inf if accepted is None else int(accepted.id.removeprefix("M"))

    async def wait(self) -> End:
        """Until it has ended, however it does."""
        await self._over.wait()
        assert self.end is not None  # noqa: S101 - set before the event is
        return self.end

    async def begin(self) -> None:
        """Its giver hears of it once, though it may step back and begin again."""
        known, self.begun_at = self.begun_at > 0, time()
        if self._giver is not None and not known:
            self._giver.began(self)
        before, self.before = self.before, None
        if before is not None:
            await before()

    def finish(self, end: End) -> None:
        """The first end stands."""
        if self.end is None:
            self.end = end
            if self._giver is not None:
                self._giver.ended(self, end)
            self._over.set()


class Jobs:
    """The queue of one conversation, which can be filled before there is a session to work it off.

    `wake` is called whenever there is something to do.
    """

    def __init__(self, limit: int = MAX_QUEUED) -> None:
        self.current: Job | None = None
        self.wake: Callable[[], None] = lambda: None
        self._limit = limit
        # Short; a deque of nothing takes ten times as much, in each conversation that rests.
        self._queue = list[Job]()
        self._idle = trio.Event()
        self._idle.set()

    @property
    def waiting(self) -> int:
        return len(self._queue)

    @property
    def busy(self) -> bool:
        """From the moment that something is asked for until nothing is left to do."""
        return self.current is not None or bool(self._queue)

    @property
    def next(self) -> Job | None:
        """What runs, else what will run first."""
        return self.current or (self._queue[0] if self._queue else None)

    def holds(self, accepted: Accepted) -> bool:
        """Whether this message runs or waits here."""
        return self.holding(accepted) is not None

    def holding(self, accepted: Accepted) -> Job | None:
        """The job that this message is."""
        for job in (*self._queue, *([self.current] if self.current is not None else ())):
            if isinstance(it := job.work, Prompt) and it.accepted and it.accepted.id == accepted.id:
                return job
        return None

    def offer(self, job: Job, *, resumed: bool = False) -> bool:
        """Whether it will be done; False where as many wait already as may. `resumed`: it had been offered in an
        earlier run, and is done however many wait, and before what else was asked for. Messages are done in the
        order in which they were taken in, wherever that was."""
        job.resumed = resumed
        if not resumed and len(self._queue) >= self._limit:
            return False
        at, last = len(self._queue), inf if resumed else MAX_NUMBER
        while at and job.number < self._queue[at - 1].number <= last:
            at -= 1
        self._queue.insert(at, job)
        self._idle = trio.Event() if self._idle.is_set() else self._idle
        self.wake()
        return True

    def take(self) -> Job | None:
        """The next one to run, which is `current` until it is `done`; None when nothing is left."""
        self.current = self._queue.pop(0) if self._queue else None
        if self.current is None:
            self._idle.set()
        return self.current

    def step_back(self, job: Job) -> bool:
        """Behind what was taken in before it and cut off, which has come back meanwhile; False: there is none."""
        first = self._queue[0] if self._queue else None
        if first is None or not first.resumed or first.number >= job.number:
            return False
        stopped, job.scope = job.scope.cancel_called, trio.CancelScope()
        if stopped:
            job.scope.cancel()
        return self.offer(job, resumed=True)

    def done(self, job: Job, end: End) -> None:
        """Unless it has stepped back."""
        self.current = None
        if job not in self._queue:
            job.finish(end)

    def cancel(self, job: Job) -> None:
        """End it soon if it runs; if it waits it never begins."""
        job.scope.cancel()
        if job in self._queue:
            self._queue.remove(job)
            job.finish(End("cancelled"))
            self._rest()

    def refuse(self, reason: str) -> None:
        """Nothing that waits is to begin; each is told so in its turn."""
        for job in self._queue:
            job.refused = reason

    def let_join(self, joins: Callable[[Prompt | Compaction], bool]) -> None:
        """What waits and becomes part of the job that runs is no job of its own any more."""
        for job in [it for it in self._queue if joins(it.work)]:
            self._queue.remove(job)
            job.finish(End("done"))

    def drop(self) -> int:
        """Nothing that waits is to begin, and nobody hears of it. Returns how many there were."""
        dropped = list(self._queue)
        self._queue.clear()
        for job in dropped:
            job.finish(End("dropped"))
        self._rest()
        return len(dropped)

    async def idle(self) -> None:
        """Until everything asked for has ended."""
        await self._idle.wait()

    def _rest(self) -> None:
        if not self.busy:
            self._idle.set()
