"""Work in the order in which it was asked for, one piece at a time. Knows nothing of what a piece does."""

from __future__ import annotations

from collections import deque
from typing import Protocol

import trio

MAX_QUEUED = 64


class Job(Protocol):
    async def run(self) -> str:
        """To the end. Raises nothing (but Cancelled). Returns why nothing that waits is to begin; mostly empty."""
        ...

    def refuse(self, reason: str) -> None:
        """It is not to begin: running it says no more than that."""
        ...

    def cancel(self) -> None:
        """End it soon, while it runs; never waits."""
        ...

    def drop(self) -> None:
        """It will never run."""
        ...


class Jobs:
    def __init__(self) -> None:
        self._queue: deque[Job] = deque()
        self._current: Job | None = None
        self._changed = trio.Event()
        self._idle = trio.Event()
        self._idle.set()

    @property
    def busy(self) -> bool:
        """From the moment that something is asked for until nothing is left to do."""
        return self._current is not None or bool(self._queue)

    @property
    def current(self) -> Job | None:
        return self._current

    def offer(self, job: Job) -> bool:
        """Whether it will be done; False when MAX_QUEUED wait already."""
        if len(self._queue) >= MAX_QUEUED:
            return False
        self._queue.append(job)
        self._idle = trio.Event() if self._idle.is_set() else self._idle
        self._changed.set()
        return True

    def cancel(self) -> bool:
        """End what runs, or else what comes next; the rest of the queue stays. Whether there was anything."""
        if self._current is not None:
            self._current.cancel()
            return True
        if self._queue:
            # It has been taken in, and its task has not got as far as beginning it.
            self._queue[0].cancel()
        return bool(self._queue)

    def withdraw(self, job: Job) -> None:
        """Cancelled if it runs, dropped if it waits."""
        if job is self._current:
            job.cancel()
        elif job in self._queue:
            self._queue.remove(job)
            job.drop()

    async def idle(self) -> None:
        """Until everything asked for is done."""
        await self._idle.wait()

    async def run(self) -> None:
        """Work until cancelled; what waits then is dropped."""
        try:
            while True:
                await self._next()
        finally:
            while self._queue:
                self._queue.popleft().drop()
            self._idle.set()

    async def _next(self) -> None:
        while not self._queue:
            self._idle.set()
            self._changed = trio.Event()
            await self._changed.wait()
        self._current = self._queue.popleft()
        try:
            stopped = await self._current.run()
        finally:
            self._current = None
        for job in self._queue if stopped else ():
            job.refuse(stopped)
