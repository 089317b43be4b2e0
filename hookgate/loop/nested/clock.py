"""A deadline that stands still while somebody is waited for. Knows neither what is timed nor who is waited for."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from math import inf

import trio


class Clock:
    """`scope` is cancelled once `seconds` have passed in which nobody was waited for."""

    def __init__(self, seconds: float) -> None:
        self.scope = trio.CancelScope(deadline=trio.current_time() + seconds)
        self._left_s = seconds
        self._waiting = 0

    @contextmanager
    def standing_still(self) -> Generator[None]:
        """Several may wait at once."""
        if not self._waiting:
            self._left_s = self.scope.deadline - trio.current_time()
            self.scope.deadline = inf
        self._waiting += 1
        try:
            yield
        finally:
            self._waiting -= 1
            if not self._waiting:
                self.scope.deadline = trio.current_time() + self._left_s
