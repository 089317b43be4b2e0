"""A running child process: its pipes, the tasks that serve them, its end. Owns the child; knows no wire.

`open_child` joins it to a conversation, which makes sense of the lines. The first reason for an end stands, and
whoever waits for an answer is woken by it, once.
"""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from time import monotonic
from typing import Protocol, TypeVar

import trio

from hookgate.processes.group import exit_text
from hookgate.processes.pipes import Pipes, Stderr, TakeLines
from hookgate.processes.rounds import Reads

READ_BYTES = 1 << 16
"""For more, memory is mapped anew at each read, which takes longer than all else about a short reply."""
TURN_READS = 4
"""Full reads in a row before the other tasks have their turn."""
EXIT_WAIT_S = 0.2
FLOOD_BYTES = 256 * 1024 * 1024
FLOOD_LINE_BYTES = 4096
"""What a line that answers nobody counts for at least: about as many bytes are read in the time it takes."""
FLOOD_WINDOW_S = 10.0
"""A child that writes this much in this time beside answers to calls is stopped: it would hold the event loop."""


class HelloFailed(Exception):
    """The process could not be started, or did not introduce itself; the text says why. `last_words`: lines of its
    stderr."""

    def __init__(self, reason: str, last_words: tuple[str, ...] = ()) -> None:
        super().__init__(reason)
        self.last_words = last_words


def unheard(seconds: float) -> str:
    """What is wrong with one that has said nothing for so long."""
    return f"no hello within {seconds:g} s"


def why_unheard(unread: str) -> str:
    """What that may come from. `unread`: what it has written that is no hello, in quotes."""
    return f"this came, which answers nothing: {unread}" if unread else SLOW


SLOW = "it is silent, does not flush its stdout, or is still compiling or downloading something"


class NotAgain(HelloFailed):
    """Nor would it help to try again soon."""


LATE_S = 3.0
"""Whoever waits longer for a hello reads that it has not come."""

Recheck = Callable[[], Awaitable[str]]
"""Asked before each start: why it may not be started any more; empty: it may."""


Late = Callable[[str], None]
"""Told once where a start takes longer than anybody should be kept waiting: why."""


class Conversation(Protocol):
    """What is said with one child, over either wire."""

    def take(self, data: bytes) -> int:
        """Read what it wrote. The bytes that answered nobody, at least FLOOD_LINE_BYTES a line; 0: a caller woke."""
        ...

    def abandon(self, reason: str) -> None:
        """It answers no more: close the way in and wake every caller. Called once."""
        ...

    async def run_writer(self) -> None:
        """Write what waits until `abandon`."""
        ...

    async def introduce(self) -> str | None:
        """The handshake: None, or what went wrong."""
        ...

    async def leave(self) -> None:
        """Last words before its stdin is closed; bounded by itself."""
        ...


C = TypeVar("C", bound=Conversation)


class Child:
    """`ended` is set when it answers no more; `end_reason` says why, `last_words` what its stderr said until then.
    `flood_bytes`: more in one window ends it."""

    def __init__(self, pipes: Pipes, flood_bytes: int = FLOOD_BYTES) -> None:
        self.pipes = pipes
        self.ended = trio.Event()
        self.end_reason = ""
        self.last_words: tuple[str, ...] = ()
        self._flood_bytes = flood_bytes
        self._flood, self._flood_since = 0, 0.0
        self._conversation: Conversation | None = None
        self._errors: Stderr | None = None
        self._unwritable = ""
        self._cut = trio.Event()

    @property
    def pid(self) -> int:
        return self.pipes.process.pid

    def join(self, conversation: Conversation, errors: Stderr) -> None:
        """From here on it is told what the child writes, and of the end."""
        self._conversation, self._errors = conversation, errors

    def end(self, reason: str) -> None:
        if self.ended.is_set():
            return
        self.end_reason = reason
        if self._errors is not None:
            self.last_words = self._errors.last_words()
        self.ended.set()
        if self._conversation is not None:
            self._conversation.abandon(reason)

    def cut(self, reason: str) -> None:
        """Nothing can be written to it any more. It ends soon: with its exit, which gives the better reason and may
        follow an answer, or else for this reason."""
        self._unwritable = reason
        self._cut.set()

    async def run_cut(self) -> None:
        """See `cut`."""
        await self._cut.wait()
        with trio.move_on_after(EXIT_WAIT_S):
            await self.ended.wait()
        self.end(self._unwritable)

    async def run_reader(self, reads: Reads) -> None:
        """Read until the pipe ends. Replies wake their callers in the order they were written."""
        over = trio.Event()

        def take() -> bool:
            if self.ended.is_set() or self._read_on() == b"":
                over.set()
            return not over.is_set()

        with reads.reading(self.pipes.stdout, take):
            await over.wait()
        # The exit that usually follows gives the better reason.
        with trio.move_on_after(EXIT_WAIT_S):
            await self.pipes.process.wait()
            await self.ended.wait()
        self.end("it closed its stdout")

    async def run_watch(self) -> None:
        """A grandchild may hold the pipes open after the process is gone, so its exit is watched apart."""
        status = await self.pipes.process.wait()
        while not self.ended.is_set() and self._read():
            pass
        self.end(exit_text(status))

    def _read_on(self) -> bytes | None:
        """Take a turn's share of what is there; the last read, as `_read` has it."""
        data = self._read()
        for _ in range(1, TURN_READS):
            if data is None or len(data) < READ_BYTES or self.ended.is_set():
                break
            data = self._read()
        return data

    def _read(self) -> bytes | None:
        """Take what is there: None when nothing is, empty at the end of the stream."""
        try:
            data = os.read(self.pipes.stdout, READ_BYTES)
        except BlockingIOError:
            return None
        self._receive(data)
        return data

    def _receive(self, data: bytes) -> None:
        if self._conversation is None:
            return
        size = self._conversation.take(data)
        if not size:
            self._flood = 0
            return
        now = monotonic()
        if now - self._flood_since > FLOOD_WINDOW_S:
            self._flood, self._flood_since = 0, now
        self._flood += size
        if self._flood > self._flood_bytes:
            self.end("it floods its stdout")


@asynccontextmanager
async def open_child(child: Child, conversation: C, stderr: TakeLines, reads: Reads) -> AsyncGenerator[C]:
    """The conversation with a started child that has introduced itself. Leaving stops its whole group and reaps it.

    Raises HelloFailed, and OSError where `stderr` does. Once open, nothing that happens to the process raises here:
    `ended` is set.
    """
    pipes = child.pipes
    errors = Stderr(pipes.stderr, stderr)
    child.join(conversation, errors)
    problem = None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(child.run_reader, reads)
            for run in (conversation.run_writer, child.run_watch, child.run_cut, errors.run):
                nursery.start_soon(run)
            try:
                problem = await conversation.introduce()
                if problem is None:
                    yield conversation
            finally:
                with trio.CancelScope(shield=True):
                    await conversation.leave()
                    child.end("it was stopped")
                    await pipes.stop()
                nursery.cancel_scope.cancel()
    finally:
        errors.drain()
        pipes.close()
    if errors.failed is not None:
        raise errors.failed
    if problem is not None:
        raise HelloFailed(problem, child.last_words)


def loud(count: int) -> bool:
    """Which of many like log lines are worth writing."""
    return count <= 10 or count % 1000 == 0
