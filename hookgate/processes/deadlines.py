"""The deadlines of all calls in flight, swept by one task: a cancel scope for each costs more than its own JSON."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import monotonic
from typing import Protocol

import trio

TICK_S = 0.02
STALL_S = 0.2


class Expiring(Protocol):
    """What waits for several things at once, each until a time of its own: the calls in flight at a hook, say. Told
    apart by identity."""

    def expire(self, now: float) -> bool:
        """End those whose time is up, by the seconds of `monotonic`; whether any is left to wait for. Must be quick
        and must not raise; others may be watched and forgotten meanwhile."""
        ...


class Deadlines:
    """Late by at most one tick, and by two after something has held the loop up."""

    def __init__(self) -> None:
        self._watched: dict[Expiring, None] = {}
        self._filled = trio.Event()

    def watch(self, waiting: Expiring) -> None:
        """Until it waits for nothing: whose first one begins says so again."""
        self._watched[waiting] = None
        self._filled.set()

    def forget(self, waiting: Expiring) -> None:
        self._watched.pop(waiting, None)

    async def run(self) -> None:
        """Sweep until cancelled; sleeps while nothing is watched."""
        while True:
            await self._filled.wait()
            before = monotonic()
            await trio.sleep(TICK_S)
            if monotonic() - before > STALL_S:
                # Something held the loop up: answers that came in time wait in the pipes and are read first.
                await trio.sleep(TICK_S)
            now = monotonic()
            for waiting in [*self._watched]:
                if waiting in self._watched and not waiting.expire(now):
                    self.forget(waiting)
            if not self._watched:
                self._filled = trio.Event()


class _Overdue:
    def __init__(self, at: float, tell: Callable[[], None]) -> None:
        self._at, self._tell = at, tell

    def expire(self, now: float) -> bool:
        if now < self._at:
            return True
        self._tell()
        return False


@contextmanager
def overdue(deadlines: Deadlines, seconds: float, tell: Callable[[], None]) -> Generator[None]:
    """`tell` is called once where what is inside takes longer."""
    waits = _Overdue(monotonic() + seconds, tell)
    deadlines.watch(waits)
    try:
        yield
    finally:
        deadlines.forget(waits)
