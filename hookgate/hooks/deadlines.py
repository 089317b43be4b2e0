"""One table of deadlines, swept by one task: a cancel scope per hook call costs more than the call's own JSON."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import trio

TICK_S = 0.02
STALL_S = 0.2


class Deadlines:
    """Late by at most one tick. A callback must not raise; it may add and remove."""

    def __init__(self) -> None:
        self._table: dict[int, tuple[float, Callable[[], None]]] = {}
        self._last = 0
        self._filled = trio.Event()

    def add(self, timeout_s: float, expired: Callable[[], None]) -> int:
        """Call `expired` once, `timeout_s` seconds from now, unless removed first."""
        self._last += 1
        self._table[self._last] = (monotonic() + timeout_s, expired)
        if not self._filled.is_set():
            self._filled.set()
        return self._last

    def remove(self, timer: int) -> None:
        self._table.pop(timer, None)

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
        for timer, (when, expired) in list(self._table.items()):
            if when <= now and self._table.pop(timer, None):
                expired()
