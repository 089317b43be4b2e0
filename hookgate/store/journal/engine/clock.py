"""The journal's time: seconds of the wall clock that never go back and never stand still.

A lease, a deadline or a try that waits for its time would else wait for as long as somebody set the clock back.
"""

from __future__ import annotations

import time
from collections.abc import Callable


class Clock:
    """`since`: a time that was given out before, which is not gone below again."""

    def __init__(self, wall: Callable[[], float], since: float = 0.0) -> None:
        self._wall = wall
        self._last = since
        self._ticked = time.monotonic()

    def __call__(self) -> float:
        ticked, before = time.monotonic(), self._ticked
        self._ticked = ticked
        self._last = max(self._last + max(0.0, ticked - before), self._wall())
        return self._last
