"""The end of a connection: one reason, one event, one callback at once. Knows no transport."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

import trio


class Ending:
    """The first reason counts. `on_end` is called before anybody who waits is woken. `foreseen`: the reason, where
    what can be read ends."""

    def __init__(self, on_end: Callable[[], None]) -> None:
        self.event = trio.Event()
        self.reason = ""
        self.foreseen = "the connection was closed"
        self._on_end = on_end

    def end(self, reason: str) -> None:
        if self.event.is_set():
            return
        self.reason = reason
        self._on_end()
        self.event.set()


class Flood:
    """Counts what is of no use; `over` once it weighs more than `limit` within `window_s` seconds."""

    def __init__(self, limit: int, window_s: float) -> None:
        self._limit, self._window_s = limit, window_s
        self._count, self._since = 0, 0.0

    def over(self, weight: int = 1) -> bool:
        now = monotonic()
        if now - self._since > self._window_s:
            self._count, self._since = 0, now
        self._count += weight
        return self._count > self._limit
