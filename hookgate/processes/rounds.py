"""What is done for all children together, once a round of the loop: answers read, lines written, deadlines swept.

A task of its own for each child and each of these would cost a busy round more than what it does there.
"""

from __future__ import annotations

import select
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, closing, contextmanager
from typing import Protocol

import trio

from hookgate.processes.deadlines import Deadlines
from hookgate.processes.slot import Slot

Take = Callable[[], bool]
"""Read a turn's share of what is there; False once there will be no more. Must be quick and must not raise."""


class Flushable(Protocol):
    def flush(self) -> None:
        """Write what waits, as far as that goes at once. Must not raise."""
        ...


class Reads:
    """Children that have written something each have their turn in every round, however much one of them writes."""

    def __init__(self) -> None:
        self._ready = select.epoll()
        self._takes: dict[int, Take] = {}

    @contextmanager
    def reading(self, fd: int, take: Take) -> Generator[None]:
        """Inside, `take` is called whenever there is something to read, until it says that there is no more."""
        self._takes[fd] = take
        self._ready.register(fd, select.EPOLLIN)
        try:
            yield
        finally:
            self._forget(fd)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            # One registration for all of them: the loop's own would be made anew for each after every read.
            await trio.lowlevel.wait_readable(self._ready.fileno())
            for fd, _event in self._ready.poll(0, max(len(self._takes), 1)):
                # What was taken before in this round may have ended another one.
                if (take := self._takes.get(fd)) is not None and not take():
                    self._forget(fd)

    def close(self) -> None:
        """Only when nobody is inside `reading` any more."""
        self._ready.close()

    def _forget(self, fd: int) -> None:
        if self._takes.pop(fd, None) is not None:
            self._ready.unregister(fd)


class Writes:
    """Lines that come in one round leave together, a write for each child: each wakes the other side, and that costs
    more than all else."""

    def __init__(self) -> None:
        self._waiting: dict[Flushable, None] = {}
        self._filled: Slot[None] = Slot()

    def soon(self, writer: Flushable) -> None:
        """It is flushed once all who are about to write in this round have done so."""
        self._waiting[writer] = None
        self._filled.set(None)

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await self._filled.wait()
            waiting, self._waiting, self._filled = self._waiting, {}, Slot()
            for writer in waiting:
                writer.flush()


class Rounds:
    def __init__(self) -> None:
        self.deadlines, self.reads, self.writes = Deadlines(), Reads(), Writes()

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            for run in (self.deadlines.run, self.reads.run, self.writes.run):
                nursery.start_soon(run)

    def close(self) -> None:
        """Only when no child is left."""
        self.reads.close()


@asynccontextmanager
async def open_rounds() -> AsyncGenerator[Rounds]:
    """For children that are started inside, until they are left."""
    with closing(Rounds()) as rounds:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(rounds.run)
            yield rounds
            nursery.cancel_scope.cancel()
