"""Frames on their way into a hook's stdin: written at once while the pipe takes them, else by one writer task.

No caller's deadline reaches a write, so no line is ever cut in half. Events wait in a queue of their own length:
a full one drops its oldest and says so in the next.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress

import trio

from hookgate.protocol.events import Event
from hookgate.protocol.peer import notification_frame

MAX_WAITING_BYTES = 64 * 1024 * 1024
MAX_WAITING_EVENTS = 256


class Frame:
    """A line that may still be withdrawn while it waits."""

    __slots__ = ("data",)

    def __init__(self, data: bytes | memoryview) -> None:
        self.data = data


_EVENT = Frame(b"")
"""Holds an event's place among the frames; which event it is, is decided when its turn comes."""


class Outbox:
    """Owns the writing of `fd` (non-blocking), not the fd. `broken` is called once, when the pipe is gone."""

    def __init__(self, fd: int, event_frame: Callable[[Event, int], bytes], broken: Callable[[], None]) -> None:
        self._fd = fd
        self._event_frame = event_frame
        self._broken = broken
        self._queue: deque[Frame] = deque()
        self._events: deque[Event] = deque()
        self._bytes = 0
        self._dropped = 0
        self._closed = False
        self._filled = trio.Event()
        self._empty = trio.Event()
        self.events_dropped = 0

    def send(self, data: bytes) -> Frame | None:
        """Write, or queue behind what waits. None: too much waits already, or the pipe is closed."""
        if self._closed or self._bytes > MAX_WAITING_BYTES:
            return None
        frame = Frame(data if self._queue else self._write(data))
        if frame.data:
            self._enqueue(frame)
        return frame

    def withdraw(self, frame: Frame) -> bool:
        """Nobody needs this line any more: drop it, unless its first byte may have left. Whether it was dropped."""
        if not self._queue or frame is self._queue[0] or not frame.data:
            return False
        self._queue.remove(frame)
        self._bytes -= len(frame.data)
        return True

    def send_event(self, event: Event) -> None:
        if self._closed:
            return
        if not self._queue:
            self.send(self._framed(event))
            return
        self._events.append(event)
        if len(self._events) > MAX_WAITING_EVENTS:
            self._events.popleft()
            self._dropped += 1
            self.events_dropped += 1
            return
        self._enqueue(_EVENT)

    async def emptied(self) -> None:
        """Until nothing waits, or nothing can be written any more."""
        while self._queue and not self._closed:
            self._empty = trio.Event()
            await self._empty.wait()

    def close(self) -> None:
        """Nothing is written from here on."""
        self._closed = True
        self._queue.clear()
        self._events.clear()
        self._filled.set()
        self._empty.set()

    async def run(self) -> None:
        """Write what waits, in order, until closed or cancelled."""
        while not self._closed:
            await self._filled.wait()
            with suppress(trio.ClosedResourceError):
                await self._drain()
            self._empty.set()
            if not self._closed:
                self._filled = trio.Event()

    async def _drain(self) -> None:
        while self._queue:
            await trio.lowlevel.wait_writable(self._fd)
            self._write_next()

    def _write_next(self) -> None:
        if not self._queue:
            return
        frame = self._queue[0]
        if frame is _EVENT:
            frame = self._queue[0] = Frame(self._framed(self._events.popleft()))
            self._bytes += len(frame.data)
        rest = self._write(frame.data)
        if self._closed:
            return
        self._bytes -= len(frame.data) - len(rest)
        frame.data = rest
        if not rest:
            self._queue.popleft()

    def _write(self, data: bytes | memoryview) -> bytes | memoryview:
        """What the pipe did not take: a view, since a rest of many megabytes leaves in small pieces."""
        try:
            return memoryview(data)[os.write(self._fd, data) :] if data else data
        except BlockingIOError:
            return data
        except OSError:
            self.close()
            self._broken()
            return b""

    def _enqueue(self, frame: Frame) -> None:
        self._queue.append(frame)
        self._bytes += len(frame.data)
        self._filled.set()

    def _framed(self, event: Event) -> bytes:
        dropped, self._dropped = self._dropped, 0
        return self._event_frame(event, dropped)


def hook_event_frame(event: Event, dropped: int) -> bytes:
    return notification_frame("hook.event", event.hook_event + _dropped(dropped) + b"}")


def runtime_event_frame(event: Event, dropped: int) -> bytes:
    return notification_frame("hook.runtime_event", event.runtime_event + _dropped(dropped) + b"}")


def _dropped(count: int) -> bytes:
    return b',"Dropped":%d' % count if count else b""
