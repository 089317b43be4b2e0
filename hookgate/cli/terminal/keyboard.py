"""Lines from a person or a pipe, read by a thread so that everything else goes on.

A thread cannot be interrupted in a read, so a read that nobody waits for any more stays open and the next one takes
it over: no line is lost.
"""

from __future__ import annotations

import math
import os
import sys
import termios
import threading
from collections import deque
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from functools import partial
from queue import SimpleQueue
from typing import Any

import trio

from hookgate.channels.panels import Key, Keys
from hookgate.cli.terminal.editing import Editor, Order
from hookgate.protocol.framing import LineSplitter

READ_BYTES = 1 << 16
KEY_BYTES = 1024
ESCAPE_S = 0.05
"""How long the rest of a key's sequence may take; people hit Esc and then something else slower than that."""
Typed = Callable[[], str | None]
"""What a person has typed of the line that is open; None while none is."""


class Keyboard:
    """`person`: a terminal on both sides, so there is editing, history, and somebody to talk to."""

    def __init__(
        self, lines: trio.MemoryReceiveChannel[str], prompts: SimpleQueue[Order], typed: Typed | None
    ) -> None:
        self.person = typed is not None
        self.words: Callable[[], Sequence[str]] = tuple
        """What Tab completes at the start of a line."""
        self._typed: Typed = typed or (lambda: None)
        self._lines = lines
        self._prompts = prompts
        self._open = False
        self._prompt = ""

    async def ask(self, prompt: str) -> str:
        """As read, but what a person typed or pasted before the question stood there is no answer to it."""
        if self.person:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            with suppress(trio.WouldBlock):
                self._lines.receive_nowait()
                self._open = False
            if self._open and self._typed():
                await self.read(prompt)
        return await self.read(prompt)

    @property
    def free(self) -> bool:
        """Nobody is typing a line."""
        return not self._open

    @property
    def prompt(self) -> str | None:
        """The prompt that waits now with what has been typed there; None without one, and without a person."""
        typed = self._typed() if self._prompt else None
        return None if typed is None else self._prompt + typed

    async def read(self, prompt: str, inserted: str = "") -> str:
        """One line without its end; `inserted` stands there already. Raises EOFError where no more can come."""
        self._prompt = prompt
        if self._open:
            sys.stdout.write(prompt + (self._typed() or ""))
            sys.stdout.flush()
        else:
            self._open = True
            self._prompts.put((prompt, inserted))
        try:
            line = await self._lines.receive()
        except trio.EndOfChannel:
            raise EOFError from None
        finally:
            self._prompt = ""
        self._open = False
        return line

    @contextmanager
    def keys(self) -> Generator[Callable[[], Awaitable[list[Key]]]]:
        """Inside, keys come one by one, unseen, Ctrl-C among them. Only while the keyboard is free."""
        decoder = Keys()
        with _key_by_key():
            yield partial(_read_keys, decoder)


async def _read_keys(decoder: Keys) -> list[Key]:
    """What is typed next, at least one. Raises EOFError."""
    while True:
        with trio.move_on_after(ESCAPE_S if decoder.undecided else math.inf):
            await trio.lowlevel.wait_readable(0)
            data = os.read(0, KEY_BYTES)
            if not data:
                raise EOFError
            if keys := decoder.feed(data):
                return keys
            continue
        return decoder.rest()


@asynccontextmanager
async def open_keyboard() -> AsyncGenerator[Keyboard]:
    """Leaving gives the terminal back as it was; a read that is still open ends with the program."""
    editor = Editor(lambda: keyboard.words()) if sys.stdin.isatty() and sys.stdout.isatty() else None
    send, receive = trio.open_memory_channel[str](1)
    prompts: SimpleQueue[Order] = SimpleQueue()
    keyboard = Keyboard(receive, prompts, editor and editor.typed)
    read = partial(_run, (editor or _Pipe()).read, prompts, send, trio.lowlevel.current_trio_token())
    # A daemon: it can be neither interrupted nor joined while it reads.
    threading.Thread(target=read, daemon=True, name="keyboard").start()
    with _restored_terminal():
        yield keyboard


def _run(
    read: Callable[[Order], str],
    prompts: SimpleQueue[Order],
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

    def read(self, order: Order) -> str:
        sys.stdout.write(order[0])
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
def _key_by_key() -> Generator[None]:
    before = termios.tcgetattr(0)
    raw = termios.tcgetattr(0)
    raw[_LOCAL_MODES] &= ~(termios.ICANON | termios.ECHO | termios.ISIG | termios.IEXTEN)
    termios.tcsetattr(0, termios.TCSADRAIN, raw)
    try:
        yield
    finally:
        _give_back(before)


_LOCAL_MODES = 3
"""Its place in what tcgetattr returns."""


@contextmanager
def _restored_terminal() -> Generator[None]:
    """Editing turns the terminal's own off; a program that leaves in the middle must turn it on again."""
    try:
        before = termios.tcgetattr(0)
    except termios.error:
        yield
        return
    try:
        yield
    finally:
        _give_back(before)


def _give_back(before: list[Any]) -> None:
    # A terminal that was closed takes nothing any more.
    with suppress(termios.error):
        termios.tcsetattr(0, termios.TCSADRAIN, before)
