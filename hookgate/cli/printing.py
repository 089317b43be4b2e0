"""What every command prints: lines on stdout, what failed on stderr, and rows laid out as columns."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from itertools import compress
from math import inf
from typing import TYPE_CHECKING

from hookgate.channels.printable import one_line, printable
from hookgate.protocol.codec import encode

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

LONGEST_COLUMN = 28
"""Of what stands before the last column, in a chat; a longer cell is whole, and moves its own row alone."""
NARROWEST = 20
"""Of the last column, in characters; below that a line goes on further to the left."""
_WORD = re.compile(r'\s*\S+?(?:,(?=[^\W\d]|")|(?=\s|$))')
"""A list without blanks goes on behind a comma."""
_COLUMN = re.compile(r"(?<=\S)  +(?=\S)")


def write(text: str) -> None:
    """To stdout, at once."""
    sys.stdout.write(text)
    sys.stdout.flush()


def say(text: str) -> None:
    """A line, or several; on a screen each goes on at words where it is too long."""
    width = width_shown()
    for line in text.split("\n"):
        sys.stdout.writelines(f"{row}\n" for row in folded(line, width))


def say_json(value: object) -> int:
    """One line for programs, which read UTF-8 whatever the locale is; the exit status."""
    sys.stdout.flush()
    sys.stdout.buffer.write(encode(value) + b"\n")
    return 0


def say_rows(rows: Sequence[DataclassInstance], lines: Callable[[], Iterable[str]], *, as_json: bool) -> int:
    """What an operation has listed: as JSON for programs, else as these lines; the exit status."""
    if as_json:
        return say_json([asdict(row) for row in rows])
    for line in lines():
        say(line)
    return 0


def failed(line: str) -> int:
    """Say why a command has failed, in one line; its exit status."""
    complain(f"hookgate: {line}")
    return 1


def complain(text: str) -> None:
    """As `say`, on stderr."""
    width = screen_size()[0] if sys.stderr.isatty() else None
    for line in printable(text).split("\n"):
        sys.stderr.writelines(f"{row}\n" for row in folded(line, width))


def counted(number: int, noun: str) -> str:
    return f"{number} {noun}{'' if number == 1 else 's'}"


def moment(at: float) -> str:
    """Seconds of the wall clock."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%SZ")


def lasting(seconds: float) -> str:
    """Of a time that has passed, or is left, its two largest units."""
    left = max(0, round(seconds))
    units = ((86400, "d"), (3600, "h"), (60, "min"), (1, "s"))
    place = next((n for n, (size, _) in enumerate(units) if left >= size), len(units) - 1)
    words = [f"{left // units[place][0]} {units[place][1]}"]
    if place < len(units) - 1 and (rest := left % units[place][0] // units[place + 1][0]):
        words.append(f"{rest} {units[place + 1][1]}")
    return " ".join(words)


def table(
    rows: Iterable[Sequence[str]], width: int | None = None, names: Sequence[str] = (), *, headed: bool = True
) -> list[str]:
    """A line for each row, of columns as wide as they must be; a cell is one line, an empty one a dash. `headed`:
    below the names, and a column that is empty everywhere is left out.

    On a screen of this `width` the last column goes on below itself where it is too long. With names, where the other
    columns leave it no room, each row is a block: a line for each cell that holds something.
    """
    cells = [[one_line(cell) for cell in row] for row in rows]
    if cells and names and headed:
        held = [at == 0 or any(column) for at, column in enumerate(zip(*cells, strict=True))]
        cells, names = [[*compress(row, held)] for row in cells], [*compress(names, held)]
    filled = [[cell or "-" for cell in row] for row in (*([names] if names and headed else []), *cells)]
    heads = _padded([row[:-1] for row in filled])
    if names and _crowded(heads, filled, width):
        return _blocks(cells, names, width)
    return _columns(heads, filled, width)


def aligned(rows: Iterable[Sequence[str]], width: int | None = None, names: Sequence[str] = ()) -> list[str]:
    """The same for reading in a chat or below a title, without a line of the names."""
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    heads = [f"  {head}" for head in _padded([row[:-1] for row in cells], LONGEST_COLUMN)]
    if names and _crowded(heads, cells, width):
        return _blocks(cells, names, width)
    return _columns(heads, cells, width)


def _crowded(heads: Iterable[str], rows: Iterable[Sequence[str]], width: int | None) -> bool:
    """Whether what stands before the last column leaves it no room on a screen of this width."""
    needed = (len(head) + min(len(row[-1]) + 1, NARROWEST) for head, row in zip(heads, rows, strict=True))
    return width is not None and max(needed, default=0) > width


def _columns(heads: Sequence[str], rows: Iterable[Sequence[str]], width: int | None) -> list[str]:
    indent = min(map(len, heads), default=0)
    parts = (_wrapped((head, row[-1]), indent, width) for head, row in zip(heads, rows, strict=True))
    return [line.rstrip() for lines in parts for line in lines]


def _blocks(rows: Iterable[Sequence[str]], names: Sequence[str], width: int | None) -> list[str]:
    lines = list[str]()
    for row in rows:
        pairs = [(name, cell) for name, cell in zip(names, row, strict=True) if cell not in ("", "-")]
        lines += [*([""] if lines else []), *aligned(pairs, width)]
    return lines


def screen_size() -> tuple[int, int]:
    """Columns and rows. A terminal that knows no size says 0."""
    try:
        size = os.get_terminal_size(1)
    except OSError:
        return 80, 24
    return size.columns or 80, size.lines or 24


def width_shown() -> int | None:
    """None where nobody reads it on a screen: what is piped is not wrapped."""
    return screen_size()[0] if sys.stdout.isatty() else None


def _padded(rows: Sequence[Sequence[str]], longest: float = inf) -> list[str]:
    """Each row as one text; cells longer than `longest` do not count for the width of their column."""
    widths = [
        max((len(cell) for cell in column if len(cell) <= longest), default=0) for column in zip(*rows, strict=True)
    ]
    return ["".join(f"{cell:<{size}}  " for cell, size in zip(row, widths, strict=True)) for row in rows]


def _wrapped(line: tuple[str, str], indent: int, width: int | None) -> list[str]:
    head, text = line
    if width is None or len(head + text) < width:
        return [head + text]
    if width - indent < NARROWEST:
        return folded(head + text, width)
    if width - len(head) < NARROWEST:
        return [head.rstrip(), *hanging(" " * indent, text, width)]
    return hanging(head, text, width, indent)


def folded(line: str, width: int | None) -> list[str]:
    """The rows that it takes on a screen of this width: it goes on below its last column that leaves room, or else a
    bit further in than it begins."""
    if width is None or len(line) < width or width < NARROWEST:
        return [line]
    columns = [it.end() for it in _COLUMN.finditer(line) if width - it.end() >= NARROWEST]
    begins = len(line) - len(line.lstrip())
    start, indent = (columns[-1], columns[-1]) if columns else (begins, min(begins + 2, width - NARROWEST // 2))
    return hanging(line[:start], line[start:], width, indent)


def hanging(head: str, text: str, width: int, indent: int | None = None) -> list[str]:
    """`text` behind `head`, going on behind so many blanks; None: below itself. A word that has no room there stands
    further to the left, and one that no row has room for is whole: a path can be copied."""
    rows, row, blanks = list[str](), head, " " * (len(head) if indent is None else indent)
    for word in _WORD.findall(text):
        bare = word.lstrip()
        if len(row + word) < width or (row is head and len(bare) >= width):
            row += word
        else:
            rows += [row.rstrip()] if row.strip() else []
            row = (blanks if len(bare) >= width else blanks[: width - 1 - len(bare)]) + bare
    return [*rows, row]


def stderr(text: str) -> None:
    sys.stderr.write(text)
    sys.stderr.flush()
