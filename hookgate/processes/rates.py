"""How often somebody may try: so many at once, and again as time goes by. Bounded, however many there are."""

from __future__ import annotations

from collections.abc import Callable
from math import ceil

import trio

MAX_KNOWN = 10_000


class Rate:
    """`most` at once, then one every `every_s`."""

    def __init__(self, most: int, every_s: float, clock: Callable[[], float] = trio.current_time) -> None:
        self._most, self._every_s, self._clock = most, every_s, clock
        # Until when what each has used is paid back.
        self._until: dict[str, float] = {}

    def take(self, who: str) -> int:
        """0: go on; else in how many seconds to come again."""
        now, wait = self._clock(), self.wait(who)
        until = max(self._until.pop(who, now), now)
        self._until[who] = until if wait else until + self._every_s
        if len(self._until) > MAX_KNOWN:
            del self._until[next(iter(self._until))]
        return wait

    def wait(self, who: str) -> int:
        """As `take`, for whoever only asks."""
        now = self._clock()
        wait = max(self._until.get(who, now) - now, 0.0) - (self._most - 1) * self._every_s
        return ceil(wait) if wait > 1e-6 else 0

    def give_back(self, who: str) -> None:
        """What was taken last was of no use."""
        if who in self._until:
            self._until[who] -= self._every_s
