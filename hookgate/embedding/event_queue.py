"""Events on their way to a reader: none is lost, and whoever makes them can wait until there is room for more."""

from __future__ import annotations

from collections import deque

import trio

from hookgate.protocol.rpc.events import Event, ExtPanel, ToolProgress, event_line

FULL_BYTES = 1 << 20
"""From here on a conversation makes no further model call until its reader has caught up."""


class EventQueue:
    """Putting never waits: the loop has no place to. The bound holds because makers wait in `room`."""

    def __init__(self, full: int = FULL_BYTES) -> None:
        self._waiting: deque[tuple[Event, int]] = deque()
        self._bytes, self._full = 0, full
        self._closed = False
        self._changed = trio.Event()

    def put(self, event: Event) -> None:
        """Nothing is kept for a reader who has gone, nor what a tool prints on its way for one who is far behind."""
        if not (self._closed or (isinstance(event, ToolProgress) and self._bytes >= self._full)):
            size = len(event_line(event))
            self._waiting.append((event, size))
            self._bytes += size
            self._wake()

    def offer(self, event: Event) -> bool:
        """Put what its maker does not wait with: whether there was room. Of a panel its last look is enough."""
        if self._bytes >= self._full:
            return False
        if isinstance(event, ExtPanel) and self._waiting and isinstance(self._waiting[-1][0], ExtPanel):
            self._bytes -= self._waiting.pop()[1]
        self.put(event)
        return True

    def move_to(self, other: EventQueue) -> None:
        """All that waits here waits there, behind what does already; it stays where nobody reads there any more."""
        while self._waiting and not other.closed:
            event, size = self._waiting.popleft()
            self._bytes -= size
            other.put(event)

    @property
    def closed(self) -> bool:
        """Whether nothing more is taken."""
        return self._closed

    async def get(self) -> Event | None:
        """The next event; None when there is none and none will come."""
        await trio.lowlevel.checkpoint()
        while not self._waiting:
            if self._closed:
                return None
            await self._changed.wait()
        event, size = self._waiting.popleft()
        self._bytes -= size
        self._wake()
        return event

    async def room(self) -> None:
        """Until fewer bytes wait than FULL_BYTES, or nobody reads."""
        while self._bytes >= self._full:
            await self._changed.wait()
        await trio.lowlevel.checkpoint()

    def finish(self) -> None:
        """Nothing more will come."""
        self._closed = True
        self._wake()

    def abandon(self) -> None:
        """Nobody reads any more."""
        self._waiting.clear()
        self._bytes = 0
        self.finish()

    def _wake(self) -> None:
        self._changed.set()
        self._changed = trio.Event()
