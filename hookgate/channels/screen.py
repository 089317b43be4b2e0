"""Where a conversation at a terminal is written: finished text, which stays, and one live region below it.

Knows no terminal: who draws is the caller's business, and nobody else writes there.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

Write = Callable[[str], None]


class Screen(Protocol):
    """`live`: a person has the input line before them at all times, and the live region right above it. Else finished
    text is all there is, written as it comes."""

    @property
    def live(self) -> bool: ...

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

    live = False

    def __init__(self, write: Write) -> None:
        self._write = write

    def write(self, text: str) -> None:
        self._write(text)

    def show(self, text: str) -> None:
        """Nobody would see it pass."""

    def clear(self) -> None:
        """What is written stays."""
