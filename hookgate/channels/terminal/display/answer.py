"""An answer while it streams, on its way to the screen: what is finished of it goes above, the rest stands below."""

from __future__ import annotations

from collections.abc import Callable

import structlog

from hookgate.channels.printable import printable
from hookgate.channels.terminal.display.blocks import Block, Blocks
from hookgate.channels.terminal.display.wrapping import Growing
from hookgate.channels.terminal.screen import Screen

log = structlog.get_logger("hookgate.terminal")
MOST_ROWS = 100
"""Of the block that is still written; hardly a terminal shows more of it at once."""


def prepare() -> None:
    """Import what lays out, which takes a tenth of a second: for a thread, before the first answer."""
    from hookgate.channels.terminal.display.rendering import rendered as rendered


class Answer:
    """`columns`: of the terminal at this moment. `rendered`: as Markdown, block by block; else as it comes, on a live
    screen line by line."""

    def __init__(self, screen: Screen, columns: Callable[[], int], *, rendered: bool) -> None:
        self._screen, self._columns, self._rendered = screen, columns, rendered
        self._blocks = Blocks()
        self._growing: list[Growing] = []
        self._line: list[str] = []
        self._return = ""
        self._written = False
        self.is_open = False
        """Whether what is written now would stand within it."""

    @property
    def rest(self) -> list[str]:
        """What is not finished: the block that is still written, or its last line."""
        if self._rendered:
            lines = [printable(line) for line in self._blocks.last_lines(MOST_ROWS)]
            return lines if self._blocks.in_code else self._rows_of(lines)
        return ["".join(self._line)] if self._line and self._screen.live else []

    def _rows_of(self, lines: list[str]) -> list[str]:
        """Broken between words, as the finished block will be."""
        columns = self._columns()
        self._growing.extend(Growing() for _ in lines[len(self._growing) :])
        return [
            row for line, growing in zip(lines, self._growing, strict=False) for row in growing.rows(line, columns)
        ]

    def add(self, piece: str) -> None:
        self.is_open = True
        piece = self._return + piece
        # The other half of a line's end may come with the next piece.
        self._return = "\r" if piece.endswith("\r") else ""
        self._take(piece.removesuffix("\r"))

    def _take(self, piece: str) -> None:
        if self._rendered:
            self._render(self._blocks.feed(piece))
            return
        whole, newline, begun = printable(piece).rpartition("\n")
        if newline:
            before = self._line if self._screen.live else ()
            self._screen.write("".join([*before, whole, newline]))
            self._line.clear()
        if begun:
            self._line.append(begun)
            if not self._screen.live:
                self._screen.write(begun)

    def end(self) -> None:
        """Nothing more comes, or something else does first: what is open is finished."""
        if self._return:
            self._take(self._return)
            self._return = ""
        self._render(self._blocks.end())
        if self._line:
            self._screen.write("".join([*(self._line if self._screen.live else ()), "\n"]))
            self._line.clear()
        self._written = self.is_open = False

    def _render(self, blocks: list[Block]) -> None:
        for block in blocks:
            rows = self._rows(block)
            self._screen.write("\n".join([*([""] if self._written and not block.tight else []), *rows, ""]))
            self._written = True

    def _rows(self, block: Block) -> list[str]:
        """As it was written where it cannot be laid out: whatever that is the fault of, a person must read it."""
        from hookgate.channels.terminal.display.rendering import rendered

        try:
            return rendered(block, self._columns())
        except Exception:
            log.exception("answer_not_laid_out")
            return [printable(line) for line in block.source]
