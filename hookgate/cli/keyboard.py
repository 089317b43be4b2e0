"""Lines from a person or a pipe, read by a thread so that everything else goes on.

A thread cannot be interrupted in a read, so a read that nobody waits for any more stays open and the next one takes
it over: no line is lost.
"""

from __future__ import annotations

import os
import sys
import termios
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable, Generator
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from queue import SimpleQueue

import trio

from hookgate.protocol.framing import LineSplitter

READ_BYTES = 1 << 16


class Keyboard:
    """`person`: a terminal on both sides, so there is editing, history, and somebody to talk to."""

    def __init__(self, lines: trio.MemoryReceiveChannel[str], prompts: SimpleQueue[str], *, person: bool) -> None:
        self.person = person
        self._lines = lines
        self._prompts = prompts
        self._open = False

    async def ask(self, prompt: str) -> str:
        """As read, but what a person typed or pasted before the question stood there is no answer to it."""
        if self.person:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            with suppress(trio.WouldBlock):
                self._lines.receive_nowait()
                self._open = False
        return await self.read(prompt)

    async def read(self, prompt: str) -> str:
        """One line without its end. Raises EOFError where no more can come."""
        if self._open:
            sys.stdout.write(prompt)
            sys.stdout.flush()
        else:
            self._open = True
            self._prompts.put(prompt)
        try:
            line = await self._lines.receive()
        except trio.EndOfChannel:
            raise EOFError from None
        self._open = False
        return line


@asynccontextmanager
async def open_keyboard() -> AsyncGenerator[Keyboard]:
    """Leaving gives the terminal back as it was; a read that is still open ends with the program."""
    person = sys.stdin.isatty() and sys.stdout.isatty()
    if person:
        with suppress(ImportError):
            import readline  # noqa: F401  # pyright: ignore[reportUnusedImport] - gives input() its editing
    send, receive = trio.open_memory_channel[str](1)
    prompts: SimpleQueue[str] = SimpleQueue()
    read = partial(_run, input if person else _Pipe().read, prompts, send, trio.lowlevel.current_trio_token())
    # A daemon: it can be neither interrupted nor joined while it reads.
    threading.Thread(target=read, daemon=True, name="keyboard").start()
    with _restored_terminal():
        yield Keyboard(receive, prompts, person=person)


def _run(
    read: Callable[[str], str],
    prompts: SimpleQueue[str],
    send: trio.MemorySendChannel[str],
    token: trio.lowlevel.TrioToken,
) -> None:
    with suppress(trio.RunFinishedError, trio.Cancelled, trio.BrokenResourceError):
        while True:
            try:
                line = read(prompts.get())
            except (EOFError, OSError, ValueError):
                trio.from_thread.run_sync(send.close, trio_token=token)
                return
            trio.from_thread.run(send.send, line, trio_token=token)


class _Pipe:
    """Lines of a stdin that is no terminal. sys.stdin itself would be locked by the read that the end interrupts,
    and Python aborts at a lock that it needs for its own end."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._read: deque[str] = deque()

    def read(self, prompt: str) -> str:
        sys.stdout.write(prompt)
        sys.stdout.flush()
        while not self._read:
            data = os.read(0, READ_BYTES)
            # A last line without an end is one too; the second end of input then finds nothing before it.
            read = self._lines.feed(data or b"\n")
            self._read.extend(line.decode("utf-8", "replace") for line in read if isinstance(line, bytes))
            if not data and not any(self._read):
                raise EOFError
        return self._read.popleft()


@contextmanager
def _restored_terminal() -> Generator[None]:
    """Editing turns the terminal's own off; a program that leaves in the middle must turn it on again."""
    try:
        before = termios.tcgetattr(sys.stdin)
    except (termios.error, OSError, ValueError):
        yield
        return
    try:
        yield
    finally:
        termios.tcsetattr(sys.stdin, termios.TCSADRAIN, before)
