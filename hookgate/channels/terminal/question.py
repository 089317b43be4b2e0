"""A question to a person as rows of a terminal: what others wrote stands behind a gutter, however it is padded.

hookgate's own rows begin with `? ` or blanks, and no row of others' text does. Knows no terminal and no answer.
"""

from __future__ import annotations

import textwrap
import unicodedata
from collections.abc import Iterator
from itertools import groupby

from hookgate.channels.printable import char_columns, escaped, invisible, named, visible
from hookgate.protocol.dataclasses import dataclass

GUTTER, GOES_ON = "| ", ": "
"""Before a line, and before the rest of one that was folded."""
MAX_BLANK_ROWS = 3
MAX_MARKS = 2
"""On one character; more of them reach into the rows above and below."""
DIGEST_CHARS = 12


@dataclass(frozen=True, slots=True)
class Part:
    """`label`: hookgate's own words, or a name that has passed `named`. `text`: whatever others have written."""

    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Question:
    """`head`, `foot` and `prompt` are hookgate's own words; names in them have passed `named`. `foot` stands right
    above the prompt. `more`: what `parts` say in another way, for whoever wants to read all."""

    head: str
    parts: tuple[Part, ...]
    foot: tuple[str, ...]
    prompt: str
    more: tuple[Part, ...] = ()

    def head_rows(self, width: int, place: str = "") -> list[str]:
        """`place`: among several questions."""
        return own_rows(f"{self.head}  [{place}]" if place else self.head, width, "? ")

    def body_rows(self, width: int) -> list[str]:
        return _rows(self.parts, width)

    def more_rows(self, width: int) -> list[str]:
        return _rows(self.more, width)

    def foot_rows(self, width: int) -> list[str]:
        return [row for line in self.foot for row in own_rows(line, width)]


def measured(name: str, parts: tuple[Part, ...], digest: str = "", place: str = "") -> str:
    """What it is about, how much of it, what of it may look like something else, and its digest if it has one.
    `place`: the label of what says only where the rest goes."""
    text = "".join(part.text for part in parts)
    strange, unseen = sum(not char.isascii() for char in text), invisible(text)
    lines = sum(_lines(part.text) for part in parts)
    size = sum(len(part.text) for part in parts if part.label != place)
    counts = [
        f"{size:,} character{'' if size == 1 else 's'}",
        *([f"{lines:,} line{'' if lines == 1 else 's'}"] if lines else []),
        *([f"{strange:,} not ASCII"] if strange else []),
        *([f"{unseen:,} invisible"] if unseen else []),
    ]
    return f"{named(name)}: {', '.join(counts)}{f'; sha256 {digest[:DIGEST_CHARS]}' if digest else ''}"


def _lines(text: str) -> int:
    """None of a text that is a single word or sentence, as a path is; the last one may have an end or not."""
    return text.count("\n") + (not text.endswith("\n")) if "\n" in text else 0


def own_rows(text: str, width: int, begins: str = "  ") -> list[str]:
    """Rows of hookgate's own words; none of an empty text."""
    return textwrap.wrap(text, width, initial_indent=begins, subsequent_indent="    ", break_on_hyphens=False)


def _rows(parts: tuple[Part, ...], width: int) -> list[str]:
    return [row for part in parts for row in (*own_rows(f"{part.label}:", width), *_theirs(part.text, width))]


def _theirs(text: str, width: int) -> list[str]:
    rows = [row for line in visible(text).split("\n") for row in _folded(line.expandtabs(4), width - len(GUTTER))]
    return list(_without_blanks(rows))


def _without_blanks(rows: list[str]) -> Iterator[str]:
    """Many blank rows would push what stands above them off the screen."""
    for blank, run in groupby(rows, key=lambda row: not row[len(GUTTER) :].strip()):
        group = list(run)
        if blank and len(group) > MAX_BLANK_ROWS:
            yield f"  ({len(group):,} blank rows)"
        else:
            yield from group


def _folded(line: str, width: int) -> Iterator[str]:
    pieces = _ascii_pieces(line, width) if line.isascii() else _pieces(line, width)
    gutter = GUTTER
    for piece in pieces:
        yield gutter + piece
        gutter = GOES_ON
    if gutter == GUTTER:
        yield gutter.rstrip()


def _ascii_pieces(line: str, width: int) -> Iterator[str]:
    return (line[at : at + width] for at in range(0, len(line), width))


def _pieces(line: str, width: int) -> Iterator[str]:
    piece, taken, marks = "", 0, 0
    for char in line:
        marks = marks + 1 if unicodedata.category(char) in ("Mn", "Me") else 0
        # A mark at the beginning would join the gutter.
        alone = marks and (not piece or taken == width)
        shown = escaped(char) if alone or marks > MAX_MARKS else char
        wide = len(shown) if shown != char else char_columns(char)
        if taken + wide > width:
            yield piece
            piece, taken = "", 0
        piece, taken = piece + shown, taken + wide
    if piece:
        yield piece
