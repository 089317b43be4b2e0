"""What signals ask of a gateway that is left alone: to stop in order or now, to read its configuration."""

from __future__ import annotations

import signal
from collections.abc import AsyncIterator, Awaitable, Callable
from math import inf

import trio

HEARD = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
ECHO_S = 1.0
"""A signal to the whole process group comes twice, since the guardian hands on its own."""


class Orders:
    """`stop`: set by the first SIGTERM or SIGINT, which a reload gives way to; another one cancels `now`, and so does
    one before there is a `reload`, which SIGHUP asks for."""

    def __init__(self, now: trio.CancelScope) -> None:
        self.stop = trio.Event()
        self.reload: Callable[[], Awaitable[None]] | None = None
        self._now = now
        self._one, self._reloading = trio.Lock(), trio.CancelScope()

    async def run(self, signals: AsyncIterator[int]) -> None:
        first = inf
        async with trio.open_nursery() as nursery:
            async for number in signals:
                if number == signal.SIGHUP:
                    # New hooks have their time to say hello, and nobody waits for that who says stop.
                    nursery.start_soon(self._reload)
                elif self.reload is None or (self.stop.is_set() and trio.current_time() - first > ECHO_S):
                    self._now.cancel()
                elif not self.stop.is_set():
                    self.stop.set()
                    self._reloading.cancel()
                    first = trio.current_time()

    async def _reload(self) -> None:
        """One after the other, and none once it stops."""
        async with self._one:
            if self.reload is not None and not self.stop.is_set():
                with trio.CancelScope() as self._reloading:
                    await self.reload()
