"""Whoever sits at the terminal of a run that has no prompt: asked there, whatever stdin and stdout are.

The terminal itself edits the line; nothing of it is kept.
"""

from __future__ import annotations

import os
import select
import termios
from collections.abc import Generator
from contextlib import contextmanager, suppress

import trio

from hookgate.channels.terminal.dialogue import NO
from hookgate.protocol.dataclasses import dataclass

LONGEST_LINE = 4096
"""Bytes: more a terminal takes in no line."""


@dataclass(frozen=True, slots=True)
class Seat:
    """`descriptor`: of the terminal, for reading and writing."""

    descriptor: int

    def write(self, text: str) -> None:
        # A terminal that was closed shows nothing any more.
        with suppress(OSError):
            data = text.encode("utf-8", "replace")
            while data:
                data = data[os.write(self.descriptor, data) :]

    async def ask(self, prompt: str) -> str | None:
        """The line typed at this prompt, "no" for Ctrl-D; None where nobody can answer."""
        try:
            if not in_front(self.descriptor):
                return None
            # What was typed before the question stood there is no answer to it.
            termios.tcflush(self.descriptor, termios.TCIFLUSH)
            self.write(prompt)
            await self._entered()
            typed = os.read(self.descriptor, LONGEST_LINE)
        except (OSError, termios.error):
            return None
        if typed.endswith(b"\n"):
            return typed.decode("utf-8", "replace").rstrip("\n")
        self.write(f"{NO}\n")
        # A terminal that is gone is none any more.
        return NO if os.isatty(self.descriptor) else None

    def redraw(self, _old: str, new: str, prompt: str) -> bool:
        """What the terminal still has of a line nobody can see behind another prompt; a whole one is an answer."""
        entered = bool(select.select([self.descriptor], [], [], 0)[0])
        if not entered:
            with suppress(termios.error):
                termios.tcflush(self.descriptor, termios.TCIFLUSH)
        self.write(f"\n{new}{prompt}")
        return entered

    async def _entered(self) -> None:
        """Until there is a line. What was typed of one for a question that is over is nobody's: no shell gets it."""
        try:
            await trio.lowlevel.wait_readable(self.descriptor)
        except trio.Cancelled:
            with suppress(termios.error):
                termios.tcflush(self.descriptor, termios.TCIFLUSH)
            raise

    def size(self) -> tuple[int, int]:
        """Columns and rows."""
        with suppress(OSError):
            columns, rows = os.get_terminal_size(self.descriptor)
            return columns or 80, rows or 24
        return 80, 24


@contextmanager
def open_seat() -> Generator[Seat | None]:
    """None where nobody sits: no terminal is looked at, or this runs behind it, where a read would stop it."""
    descriptor = _opened() if any(map(os.isatty, range(3))) else -1
    if descriptor < 0:
        yield None
        return
    try:
        yield Seat(descriptor) if in_front(descriptor) else None
    finally:
        os.close(descriptor)


def _opened() -> int:
    """The terminal that controls this, else stdin's."""
    for find in (lambda: "/dev/tty", lambda: os.ttyname(0)):
        with suppress(OSError):
            return os.open(find(), os.O_RDWR | os.O_NOCTTY | os.O_CLOEXEC)
    return -1


def in_front(descriptor: int) -> bool:
    """Whether this runs before the terminal, and not behind it."""
    try:
        return os.tcgetpgrp(descriptor) == os.getpgrp()
    except OSError:
        # It controls nothing, so it stops nobody either.
        return True
