"""Where a conversation at a terminal is written: finished text, which stays, and one live region below it.

Knows no terminal: who draws is the caller's business, and nobody else writes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hookgate.channels.printable import cut, text_columns

Write = Callable[[str], None]


class Screen(Protocol):
    """`live`: a person has the input line before them at all times, and the live region right above it. Else finished
    text is written as it comes. `shows`: there is a live region at all."""

    @property
    def live(self) -> bool: ...

    @property
    def shows(self) -> bool: ...

    def write(self, text: str) -> None:
        """Finished text. On a live screen it is whole lines, which go above the live region and stay."""
        ...

    def show(self, text: str) -> None:
        """The whole live region from now on; empty: none. Colours (SGR) are the only control sequences in it; where
        it is higher than the terminal has room, its last rows are seen."""
        ...

    def clear(self) -> None:
        """Nothing that was written is seen any more, and the input line is at the top."""
        ...


class Plain:
    """What is no live screen: a pipe, a file, a terminal that knows no control sequences."""

    live = shows = False

    def __init__(self, write: Write) -> None:
        self._write = write

    def write(self, text: str) -> None:
        self._write(text)

    def show(self, text: str) -> None:
        """Nobody would see it pass."""

    def clear(self) -> None:
        """What is written stays."""


class OneRow:
    """A terminal without an input line: the live region is one row below what is written, cut where the row ends, and
    gone as soon as anything else is. `draw` writes it, `columns` are the terminal's at this moment."""

    live, shows = False, True

    def __init__(self, write: Write, draw: Write, columns: Callable[[], int]) -> None:
        self._write, self._draw, self._columns = write, draw, columns
        self._drawn = self._within = False
        self._column = 0

    def write(self, text: str) -> None:
        self._erase()
        self._write(text)
        if text:
            _, ended, line = text.rpartition("\n")
            self._column = text_columns(line) + (0 if ended else self._column)
            self._within = not text.endswith("\n")

    def show(self, text: str) -> None:
        self._erase()
        columns = self._columns()
        # A cursor that waits behind the last column would not come back there.
        if text and not (self._within and self._column % columns == 0):
            row = cut(text.replace("\n", "  "), columns - 1)
            self._draw(f"{_BELOW}{row}{_BACK}" if self._within else row)
            self._drawn = True

    def clear(self) -> None:
        """What is written stays."""

    def _erase(self) -> None:
        if self._drawn:
            self._draw("\x1b[J" if self._within else "\r\x1b[K")
            self._drawn = False


_BELOW, _BACK = "\x1bD\x1b[A\x1b7\r\x1b[B", "\x1b8"
"""To the row below the one that is being written, which is made where there is none, and back."""
