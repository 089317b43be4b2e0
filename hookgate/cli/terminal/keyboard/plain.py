"""Lines of a pipe, or of a terminal that knows no control sequences, read by a thread so that all else goes on.

A thread cannot be interrupted in a read, so a read that nobody waits for any more stays open and the next one takes
it over: no line is lost.
"""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from collections import deque
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, AbstractContextManager, asynccontextmanager, nullcontext, suppress
from functools import partial
from pathlib import Path
from queue import SimpleQueue

import trio

from hookgate.channels.terminal.dialogue import NO
from hookgate.channels.terminal.panels import Key
from hookgate.channels.terminal.screen import Plain
from hookgate.cli.printing import write
from hookgate.cli.terminal.keyboard.keyboard import Completes, nothing
from hookgate.cli.terminal.person.seat import Seat
from hookgate.cli.terminal.printing import GOES_ON
from hookgate.protocol.framing import LineSplitter

READ_BYTES = 1 << 16


class PlainKeyboard:
    """Each prompt is written when its line is wanted, and the line behind it where no terminal has shown it there.
    `seat`: the terminal of whoever types, where what is written goes elsewhere: questions stand there."""

    edits = False
    free = False
    typed = 0

    def __init__(
        self, lines: trio.MemoryReceiveChannel[str | None], wanted: SimpleQueue[None], seat: Seat | None
    ) -> None:
        self.person = sys.stdin.isatty() and (sys.stdout.isatty() or seat is not None)
        self.seat = seat
        self.prompt: Callable[[], str] = str
        self.completes: Completes = nothing
        self.keeps: Callable[[str], bool] = bool
        self.answers: Callable[[str], bool] = bool
        self.emptied = trio.Event()
        self.busy: Callable[[], bool] = bool
        self.folder = Path()
        self.screen = Plain(self._write)
        self.gone = trio.Event()
        """Whoever read what is written does so no more."""
        self._lines = lines
        self._wanted = wanted
        self._open = self._asks = False
        self._begun: list[str] = []
        """Of a message, the lines that go on in the next one."""
        self._standing = ""
        """The prompt that nothing stands behind yet."""
        self._within = False
        """What was written last has not ended its row."""

    async def read(self) -> str:
        while True:
            line = await self._line(GOES_ON if self._begun else self.prompt(), None)
            goes_on = sys.stdin.isatty() and line.endswith("\\")
            self._begun.append(line[:-1] if goes_on else line)
            if not goes_on:
                lines, self._begun = self._begun, []
                return "\n".join(lines)

    async def ask(self, prompt: str) -> str:
        if self.person:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
            with suppress(trio.WouldBlock):
                self._lines.receive_nowait()
                self._open = False
        return await self._line(prompt, NO) if self.seat is None else await self._on_seat(prompt, self.seat)

    def redraw(self, _old: str, new: str, prompt: str) -> bool:
        """What a terminal still has of a line nobody can see behind another prompt."""
        if self.person:
            termios.tcflush(sys.stdin, termios.TCIFLUSH)
        self._standing = prompt
        self._write(new)
        return not self.person

    async def _on_seat(self, prompt: str, seat: Seat) -> str:
        seat.write(prompt)
        typed = await self._typed()
        if typed is None:
            seat.write(f"{NO}\n")
        return NO if typed is None else typed

    async def _line(self, prompt: str, ended: str | None) -> str:
        """`ended`: what Ctrl-D stands for; None: for leaving. Raises EOFError."""
        ahead = self._typed_ahead()
        self._write(prompt)
        self._standing, self._asks = prompt, True
        try:
            typed = await self._typed()
        except EOFError:
            typed = ended = None
        finally:
            self._asks = False
        self._standing = ""
        line = ended if typed is None else typed
        self._within = False
        if line is None:
            self._put("\n")
            raise EOFError
        # A terminal shows what is typed behind the prompt; the file that this may go to does not.
        if ahead or typed is None or not (sys.stdin.isatty() and sys.stdout.isatty()):
            self._put(f"{line}\n")
        return line

    async def _typed(self) -> str | None:
        """The next line; None for Ctrl-D. Raises EOFError where no more can come."""
        if not self._open:
            self._open = True
            self._wanted.put(None)
        try:
            typed = await self._lines.receive()
        except trio.EndOfChannel:
            raise EOFError from None
        self._open = False
        return typed

    def _typed_ahead(self) -> bool:
        """Whether the next line is there before its prompt: a terminal has shown it somewhere else."""
        come = self._lines.statistics().current_buffer_used
        return bool(come or (not self._open and select.select([0], [], [], 0)[0]))

    def _write(self, text: str) -> None:
        """Not behind a prompt: that ends, and stands there anew for as long as a line is wanted."""
        prompt, self._standing = self._standing, ""
        self._put(f"\n{text}" if prompt and not text.startswith("\n") else text)
        self._within = bool(text) and not text.endswith("\n")
        if prompt and self._asks:
            self._put(prompt)
            self._standing = prompt

    def _put(self, text: str) -> None:
        """Whoever writes, in a turn too, has no part in it that nobody reads."""
        try:
            if not self.gone.is_set():
                write(text)
        except BrokenPipeError:
            self.gone.set()

    def interrupted(self) -> None:
        if sys.stdin.isatty() and not (self._standing or self._within):
            self._put("\n")

    def close(self) -> None:
        if self._standing:
            self._put("\n")

    def resumed(self) -> None:
        """After `fg` the terminal has nothing of the line any more. Where something was written before that is known
        the prompt stands there anew already, and this one is written over it."""
        if self._asks:
            self._put(f"\r{self._standing}")

    def insert(self, text: str) -> None:
        self._write(f"{text}\n")

    def clear(self) -> bool:
        return False

    def leave(self) -> None:
        """What nobody wants is not read."""

    def keys(self) -> AbstractContextManager[trio.MemoryReceiveChannel[Key]]:
        """None come here."""
        send, receive = trio.open_memory_channel[Key](0)
        send.close()
        return nullcontext(receive)

    def lent(self) -> AbstractAsyncContextManager[None]:
        return nullcontext()


@asynccontextmanager
async def open_plain(seat: Seat | None) -> AsyncGenerator[PlainKeyboard]:
    """A read that is still open ends with the program."""
    send, receive = trio.open_memory_channel[str | None](1)
    wanted: SimpleQueue[None] = SimpleQueue()
    read = partial(_run, wanted, send, trio.lowlevel.current_trio_token())
    # A daemon: it can be neither interrupted nor joined while it reads.
    threading.Thread(target=read, daemon=True, name="keyboard").start()
    keyboard = PlainKeyboard(receive, wanted, seat)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_run_gone, keyboard)
        if keyboard.person:
            nursery.start_soon(_run_signals, keyboard)
        try:
            yield keyboard
        finally:
            keyboard.close()
        if keyboard.gone.is_set():
            raise BrokenPipeError
        nursery.cancel_scope.cancel()


async def _run_gone(keyboard: PlainKeyboard) -> None:
    await keyboard.gone.wait()
    raise BrokenPipeError


async def _run_signals(keyboard: PlainKeyboard) -> None:
    with trio.open_signal_receiver(signal.SIGCONT) as resumed:
        async for _number in resumed:
            keyboard.resumed()


def _run(wanted: SimpleQueue[None], send: trio.MemorySendChannel[str | None], token: trio.lowlevel.TrioToken) -> None:
    """Sends None for Ctrl-D, after which a terminal has more lines."""
    lines = _Lines()
    with suppress(trio.RunFinishedError, trio.Cancelled, trio.BrokenResourceError):
        while True:
            try:
                wanted.get()
                line = lines.read()
            except (EOFError, OSError, ValueError):
                trio.from_thread.run_sync(send.close, trio_token=token)
                return
            trio.from_thread.run(send.send, line, trio_token=token)


class _Lines:
    """Of stdin. sys.stdin itself would be locked by the read that the end interrupts, and Python aborts at a lock
    that it needs for its own end."""

    def __init__(self) -> None:
        self._lines = LineSplitter()
        self._read: deque[str] = deque()

    def read(self) -> str | None:
        """None for Ctrl-D. Raises EOFError where nothing more can come."""
        while not self._read:
            data = os.read(0, READ_BYTES)
            # A last line without an end is one too; the second end of input then finds nothing before it.
            read = self._lines.feed(data or b"\n")
            self._read.extend(line.decode("utf-8", "replace") for line in read if isinstance(line, bytes))
            if not data and not any(self._read):
                self._read.clear()
                # A terminal that is gone is none any more.
                if os.isatty(0):
                    return None
                raise EOFError
        return self._read.popleft()
