"""Markdown while it is written, cut into blocks as they are finished: whatever the pieces, linear in the text.

Knows no terminal and renders nothing. A block by itself reads as it does within the whole, but that a list comes item
by item and what is very long in parts.
"""

from __future__ import annotations

import re

from hookgate.protocol.dataclasses import dataclass

LONGEST = 10_000
"""Characters of a block; what is longer is cut between two lines, a longer line wherever it is."""
_FENCE = re.compile(r"( {0,3})(`{3,}(?=[^`]*$)|~{3,})")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_RULE = re.compile(r" {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$")
_ITEM = re.compile(r"( {0,3})([-*+]|\d{1,9}[.)])(?:([ \t]+)(?=\S)|[ \t]*$)")
_QUOTE = re.compile(r" {0,3}>")
MAX_GAP = 4
"""Blanks behind the mark of an item; with more of them code begins there."""


@dataclass(frozen=True, slots=True)
class Block:
    """`lines` as they were written. `code`: they are what stands in a fence, whose own lines are `opening`, and
    `closing`, empty in the middle of code that comes in parts; else Markdown. `tight`: it follows the block before
    without a blank line."""

    lines: tuple[str, ...]
    tight: bool = False
    code: bool = False
    opening: str = ""
    closing: str = ""

    @property
    def source(self) -> tuple[str, ...]:
        """All its lines."""
        return tuple(filter(None, (self.opening,))) + self.lines + tuple(filter(None, (self.closing,)))


class Blocks:
    """Takes pieces, gives the blocks that they finish."""

    def __init__(self) -> None:
        self._done: list[Block] = []
        self._begin()

    def _begin(self) -> None:
        self._pieces: list[str] = []
        self._lines: list[str] = []
        self._line_size = self._size = self._blanks = 0
        self._tight = self._in_code = False
        self._fence = self._opening = ""
        self._indent = 0
        self._content: int | None = None
        """The column where the text of the item begins that is open."""

    @property
    def in_code(self) -> bool:
        """Whether what is still written stands in a fence."""
        return self._in_code

    def last_lines(self, most: int) -> list[str]:
        """Of the block that is still written, the line that has begun included."""
        opening = [self._opening] if self._opening else []
        lines = [*opening, *self._lines] if len(self._lines) < most else self._lines[-most:]
        return [*lines, *(["".join(self._pieces)] if self._line_size else [])][-most:]

    def feed(self, piece: str) -> list[Block]:
        first, *rest = piece.split("\n")
        self._add(first)
        for text in rest:
            self._end_line()
            self._add(text)
        return self._taken()

    def end(self) -> list[Block]:
        """Nothing more comes: what is open is finished."""
        if self._line_size:
            self._end_line()
        self._finish()
        done = self._taken()
        self._begin()
        return done

    def _taken(self) -> list[Block]:
        done, self._done = self._done, []
        return done

    def _add(self, text: str) -> None:
        while self._line_size + len(text) > LONGEST:
            room = LONGEST - self._line_size
            self._pieces.append(text[:room])
            text = text[room:]
            self._end_line()
        if text:
            self._pieces.append(text)
            self._line_size += len(text)

    def _end_line(self) -> None:
        line = "".join(self._pieces).removesuffix("\r")
        self._pieces, self._line_size = [], 0
        if self._in_code:
            self._take_code(line)
        elif not line.strip():
            self._take_blank()
        else:
            self._take(line.expandtabs(4) if "\t" in line else line)
        if self._size > LONGEST:
            self._finish(parted=self._in_code)

    # --- lines ---

    def _take_code(self, line: str) -> None:
        found = _FENCE.match(line)
        if found and found[2].startswith(self._fence) and not line[found.end() :].strip():
            self._finish(closing=line)
        else:
            blanks = len(line) - len(line.lstrip(" "))
            self._keep(line[min(self._indent, blanks) :])

    def _take_blank(self) -> None:
        if self._content is not None:
            self._blanks += 1
            return
        self._finish()
        self._tight = False

    def _take(self, line: str) -> None:
        indent = len(line) - len(line.lstrip(" "))
        if self._content is not None and indent >= self._content:
            self._lines.extend([""] * self._blanks)
            self._blanks = 0
            self._keep(line)
        elif self._goes_on(line):
            self._keep(line)
        else:
            loose = self._blanks > 0
            self._finish()
            self._tight = self._tight and not loose
            self._start(line)

    def _goes_on(self, line: str) -> bool:
        """Whether it belongs to what is open, though nothing says so."""
        if not self._lines or self._blanks or _FENCE.match(line) or _HEADING.match(line):
            return False
        item = _ITEM.match(line)
        if self._content is not None:
            return not (item or _QUOTE.match(line) or _RULE.match(line))
        # Of lists those that may stand in the middle of a paragraph; `---` makes a heading of it.
        return not (item and item[3] and item[2] in ("-", "*", "+", "1.", "1)")) or bool(_RULE.match(line))

    def _start(self, line: str) -> None:
        if fence := _FENCE.match(line):
            self._in_code, self._fence, self._indent = True, fence[2], len(fence[1])
            self._opening = line
            return
        self._keep(line)
        if _HEADING.match(line) or _RULE.match(line):
            self._finish()
        elif item := _ITEM.match(line):
            gap = len(item[3] or " ")
            self._content = len(item[1]) + len(item[2]) + (gap if gap <= MAX_GAP else 1)

    def _keep(self, line: str) -> None:
        self._lines.append(line)
        self._size += len(line) + 1

    def _finish(self, *, closing: str = "", parted: bool = False) -> None:
        """`parted`: the code goes on in another block."""
        if self._lines or self._opening or closing:
            block = Block(tuple(self._lines), self._tight, self._in_code, self._opening, closing)
            self._done.append(block)
            self._tight = True
        self._lines, self._size, self._blanks = [], 0, 0
        self._opening, self._in_code = "", parted
        self._content = None
