"""Lines at the edge of a terminal: hookgate's own, and those that still grow, go on with a word. Knows no colours."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

from hookgate.channels.printable import char_columns, text_columns

NARROWEST = 20
"""Columns; below that the terminal cuts them as it does."""


def wrapped(text: str, columns: int) -> str:
    """No line wider than that, but for a single word: a path or an address stays one that can be copied. Scripts
    without blanks between words are broken between two characters."""
    return "\n".join(row for line in text.split("\n") for row in _rows(line, columns))


def _rows(line: str, columns: int) -> list[str]:
    if text_columns(line) <= columns or columns < NARROWEST:
        return [line]
    indent = line[: len(line) - len(line.lstrip())][: columns // 2] + "  "
    rows, row, gap = list[str](), "", ""
    for piece in _pieces(line.expandtabs()):
        if piece.isspace():
            gap = piece
            continue
        if row.strip() and text_columns(row) + text_columns(gap + piece) > columns:
            rows.append(row)
            row, gap = indent, ""
        row, gap = f"{row}{gap}{piece}", ""
    return [*rows, row]


def _pieces(line: str) -> Iterator[str]:
    """Blanks, and what is not broken between them."""
    for word in re.findall(r"\s+|\S+", line):
        begin = 0
        for at in () if word.isascii() else range(1, len(word)):
            if _may_begin(word[at]):
                yield word[begin:at]
                begin = at
        yield word[begin:]


def _may_begin(char: str) -> bool:
    """A row, in the middle of what has no blanks; no mark of punctuation does."""
    return unicodedata.east_asian_width(char) == "W" and unicodedata.category(char) in ("Lo", "So")


class Growing:
    """A line to which more is added: what stands in its rows but the last one stays there, so that all of it is read
    once, however many pieces it comes in."""

    def __init__(self) -> None:
        self._begin("", 0)

    def _begin(self, line: str, columns: int) -> None:
        self._line, self._columns = line, columns
        self._rows: list[str] = []
        self._start = self._read = self._width = 0

    def rows(self, line: str, columns: int) -> list[str]:
        """As many as it takes by now; a word that has no room in a row of its own is broken."""
        if columns != self._columns or not line.startswith(self._line):
            self._begin(line, columns)
        self._line = line
        if columns < NARROWEST:
            return [line]
        while self._read < len(line):
            self._width += char_columns(line[self._read])
            if self._width > columns and line[self._read] != " ":
                self._break()
            else:
                self._read += 1
        return [*self._rows, line[self._start :]]

    def _break(self) -> None:
        blank = self._line.rfind(" ", self._start, self._read)
        if not self._line[self._start : blank + 1].strip():
            blank = self._read - 1
        self._rows.append(self._line[self._start : blank + 1].rstrip(" "))
        self._start = self._read = blank + 1
        self._width = 0
