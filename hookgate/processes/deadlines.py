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
    """Calls in flight that have deadlines, in seconds of `monotonic`. Told apart by identity."""

    def expire(self, now: float) -> bool:
        """End those whose time is up; whether any call is in flight. Must be quick and must not raise."""
        ...


class Deadlines:
    """Late by at most one tick, and by two after something has held the loop up."""

    def __init__(self) -> None:
        self._watched: dict[Expiring, None] = {}
        self._filled = trio.Event()

    def watch(self, calls: Expiring) -> None:
        """Until there is none in flight: whose first one begins says so again."""
        self._watched[calls] = None
        self._filled.set()

    def forget(self, calls: Expiring) -> None:
        self._watched.pop(calls, None)

    async def run(self) -> None:
        """Sweep until cancelled; sleeps while no call is in flight."""
        while True:
            await self._filled.wait()
            before = monotonic()
            await trio.sleep(TICK_S)
            if monotonic() - before > STALL_S:
                # Something held the loop up: answers that came in time wait in the pipes and are read first.
                await trio.sleep(TICK_S)
            now = monotonic()
            self._watched = {calls: None for calls in self._watched if calls.expire(now)}
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
