"""One table of deadlines, swept by one task: a cancel scope per hook call costs more than the call's own JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

import trio

from hookgate.protocol.dataclasses import dataclass

TICK_S = 0.02
STALL_S = 0.2


class Timed(Protocol):
    """What waits no longer than until `deadline`, in seconds of `monotonic`. Told apart by identity."""

    @property
    def deadline(self) -> float: ...

    def expire(self) -> None:
        """Its time is up. Called once; must not raise, may add to the table and remove from it."""
        ...


class Deadlines:
    """Late by at most one tick, and by two after something has held the loop up."""

    def __init__(self) -> None:
        self._table: dict[Timed, None] = {}
        self._filled = trio.Event()

    def add(self, timed: Timed) -> None:
        """It expires at its deadline, unless removed first."""
        if not self._table:
            self._filled.set()
        self._table[timed] = None

    def remove(self, timed: Timed) -> None:
        self._table.pop(timed, None)

    async def run(self) -> None:
        """Sweep until cancelled; sleeps while the table is empty."""
        while True:
            await self._filled.wait()
            before = monotonic()
            await trio.sleep(TICK_S)
            if monotonic() - before > STALL_S:
                # Something held the loop up: answers that came in time wait in the pipes and are read first.
                await trio.sleep(TICK_S)
            self._sweep()
            if not self._table:
                self._filled = trio.Event()

    def _sweep(self) -> None:
        now = monotonic()
        for timed in [it for it in self._table if it.deadline <= now]:
            if timed in self._table:
                del self._table[timed]
                timed.expire()


@dataclass(frozen=True, eq=False)
class _Overdue:
    deadline: float
    expire: Callable[[], None]


@contextmanager
def overdue(deadlines: Deadlines, seconds: float, tell: Callable[[], None]) -> Generator[None]:
    """`tell` is called once where what is inside takes longer."""
    timed = _Overdue(monotonic() + seconds, tell)
    deadlines.add(timed)
    try:
        yield
    finally:
        deadlines.remove(timed)
