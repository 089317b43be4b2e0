"""Frames on their way into a hook's stdin: written at once or once a round, and where the pipe is full by a task.

No caller's deadline reaches a write, so no line is ever cut in half. Events wait in a queue of their own length:
a full one drops its oldest and says so in the next.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from contextlib import suppress
from math import inf
from typing import Generic, TypeVar

import trio

from hookgate.processes.rounds import Writes
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.hook.peer import notification_frame

MAX_WAITING_BYTES = 64 * 1024 * 1024
MAX_WAITING_EVENTS = 256
EVENT_PAUSE_S = 0.02
"""Events come in swarms; so long the first waits for the others, unless a call goes the same way."""
BATCH_BYTES = 64 * 1024
BATCH_PARTS = 512
"""A write takes at most 1024 pieces (IOV_MAX); one line has four."""


E = TypeVar("E")
Part = bytes | memoryview


@dataclass(frozen=True)
class Bounds:
    """What may wait beside events. `stall_s`: how long the pipe may take nothing before the child counts as stuck."""

    waiting_bytes: int = MAX_WAITING_BYTES
    waiting_frames: int = 1 << 20
    stall_s: float = inf


DEFAULT_BOUNDS = Bounds()


class Frame:
    """A line, in the pieces that are not written yet."""

    __slots__ = ("begun", "parts", "size")

    def __init__(self, parts: list[Part]) -> None:
        self.parts = parts
        self.size = len(parts[0]) if len(parts) == 1 else sum(map(len, parts))
        self.begun = False


_EVENT = Frame([])
"""Holds an event's place among the frames; which event it is, is decided when its turn comes."""


class Outbox(Generic[E]):
    """Owns the writing of `fd` (non-blocking), not the fd. `broken` is called once, with the reason, when no more
    can be written."""

    def __init__(
        self,
        fd: int,
        event_frame: Callable[[E, int], bytes],
        broken: Callable[[str], None],
        writes: Writes,
        bounds: Bounds = DEFAULT_BOUNDS,
    ) -> None:
        self._fd = fd
        self._writes = writes
        self._event_frame = event_frame
        self._broken = broken
        self._bounds = bounds
        self._queue: deque[Frame] = deque()
        self._events: deque[E] = deque()
        self._bytes = 0
        self._dropped = 0
        self._closed = False
        self._full = False
        self._soon = False
        self._filled = trio.Event()
        self._urgent = trio.Event()
        self._empty = trio.Event()
        self.events_dropped = 0

    @property
    def closed(self) -> bool:
        return self._closed

    def send(self, parts: list[Part], *, at_once: bool = True) -> Frame | None:
        """Write a line, behind what waits. None: too much waits already, or the pipe is closed.

        `at_once` False: with what else comes in this round of the loop.
        """
        bounds, waiting = self._bounds, len(self._queue) - len(self._events)
        if self._closed or self._bytes > bounds.waiting_bytes or waiting >= bounds.waiting_frames:
            return None
        frame = Frame(parts)
        self._queue.append(frame)
        self._bytes += frame.size
        if at_once:
            self.flush()
        elif not self._soon:
            self._soon = True
            self._writes.soon(self)
        return frame

    def flush(self) -> None:
        """Write what waits; what the pipe does not take is the writer task's."""
        self._soon = False
        if self._closed:
            return
        if self._full or not self._flush():
            self._filled.set()
            self._urgent.set()

    def withdraw(self, frame: Frame) -> bool:
        """Nobody needs this line any more: drop it, unless its first byte has left. Whether it was dropped."""
        if frame.begun or frame not in self._queue:
            return False
        self._queue.remove(frame)
        self._bytes -= frame.size
        return True

    def send_event(self, event: E) -> None:
        """Left to the writer task: an event must not cost the caller its encoding, unless there are too many."""
        if self._closed:
            return
        if len(self._events) >= MAX_WAITING_EVENTS and not self._full:
            self._flush()
        self._events.append(event)
        if len(self._events) > MAX_WAITING_EVENTS:
            self._events.popleft()
            self._dropped += 1
            self.events_dropped += 1
            return
        self._queue.append(_EVENT)
        self._filled.set()

    async def emptied(self) -> None:
        """Until nothing waits, or nothing can be written any more."""
        self._filled.set()
        self._urgent.set()
        while self._queue and not self._closed:
            self._empty = trio.Event()
            await self._empty.wait()

    def close(self) -> None:
        """Nothing is written from here on."""
        self._closed = True
        self._queue.clear()
        self._events.clear()
        self._filled.set()
        self._urgent.set()
        self._empty.set()

    async def run(self) -> None:
        """Write events, and what a pipe that was full has left; until closed or cancelled."""
        while not self._closed:
            await self._filled.wait()
            if not self._urgent.is_set():
                with trio.move_on_after(EVENT_PAUSE_S):
                    await self._urgent.wait()
            with suppress(trio.ClosedResourceError):
                while not self._flush():
                    await self._writable()
                    self._full = False
            self._empty.set()
            if not self._closed:
                self._filled, self._urgent = trio.Event(), trio.Event()

    async def _writable(self) -> None:
        with trio.move_on_after(self._bounds.stall_s) as patience:
            await trio.lowlevel.wait_writable(self._fd)
        if patience.cancelled_caught:
            self._fail("it does not read its stdin")

    def _fail(self, reason: str) -> None:
        self.close()
        self._broken(reason)

    def _flush(self) -> bool:
        """Write until nothing waits (True) or the pipe takes no more (False)."""
        while self._queue:
            try:
                written = os.writev(self._fd, self._batch())
            except BlockingIOError:
                self._full = True
                return False
            except OSError:
                self._fail("it closed its stdin")
                return True
            self._forget(written)
        return True

    def _batch(self) -> list[Part]:
        """The first lines that wait, as much as one write should carry."""
        parts: list[Part] = []
        size = 0
        for index, frame in enumerate(self._queue):
            if size >= BATCH_BYTES or len(parts) >= BATCH_PARTS:
                break
            if frame is _EVENT:
                frame = self._queue[index] = Frame([self._framed(self._events.popleft())])
                self._bytes += frame.size
            parts += frame.parts
            size += frame.size
        return parts

    def _forget(self, written: int) -> None:
        """Drop the bytes that have left."""
        self._bytes -= written
        if not self._bytes and not self._events:
            self._queue.clear()
            return
        while written and (frame := self._queue[0]).size <= written:
            written -= frame.size
            self._queue.popleft()
        if written:
            frame = self._queue[0]
            frame.begun = True
            frame.size -= written
            frame.parts = _rest(frame.parts, written)

    def _framed(self, event: E) -> bytes:
        dropped, self._dropped = self._dropped, 0
        return self._event_frame(event, dropped)


def _rest(parts: list[Part], written: int) -> list[Part]:
    """What is left of a line: views, since many megabytes leave in small pieces."""
    for index, part in enumerate(parts):
        if written < len(part):
            return [memoryview(part)[written:], *parts[index + 1 :]]
        written -= len(part)
    return []


def hook_event_frame(event: Event, dropped: int) -> bytes:
    return notification_frame("hook.event", event.hook_event + _dropped(dropped) + b"}")


def runtime_event_frame(event: Event, dropped: int) -> bytes:
    return notification_frame("hook.runtime_event", event.runtime_event + _dropped(dropped) + b"}")


def _dropped(count: int) -> bytes:
    return b',"Dropped":%d' % count if count else b""
