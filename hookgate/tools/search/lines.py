"""The lines of one open file that a pattern matches. Knows no folder and no path."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

from hookgate.tools.search.query import BadPattern, Query
from hookgate.tools.search.regex import Test, compiled, escaped

MAX_LINE_BYTES = 8 * 1024 * 1024
SHOWN_CHARS = 500
MORE = "... ["
"""Between what is shown of a long line and how much is not."""

# A zero byte among these makes a file binary; ripgrep's first look is as long.
_FIRST_BYTES = 64 * 1024
_CHUNK_BYTES = 1024 * 1024

_BOM = b"\xef\xbb\xbf"
_SPECIAL = re.compile(r"[\\.+*?()|\[\]{}^$]")
_LINE_BREAK = re.compile(r"(?<!\\)(?:\\\\)*\\n")
# What depends on where the text ends, or on flags: only line by line it means what it says.
_PLACED = re.compile(r"\\[Az]|\(\?[a-zA-Z]*-|\(\?[a-zA-Z]*[sx]")


class TooLong(Exception):
    """A line is longer than what is held in memory; the lines before it were searched."""


class Pattern:
    """Raises BadPattern where it does not compile. `placed`: no other engine is asked about it."""

    def __init__(self, query: Query) -> None:
        plain = query.literal or not _SPECIAL.search(query.pattern)
        if "\n" in query.pattern or (not plain and _LINE_BREAK.search(query.pattern)):
            raise BadPattern("a line break cannot match, lines are searched one at a time")
        self.placed = not plain and _PLACED.search(query.pattern) is not None
        self._needle = query.pattern.encode("utf-8", "replace") if plain and not query.ignore_case else b""
        self._in_line = _containing(query.pattern) if self._needle else _expression(query, plain=plain)
        self._in_text = _any_text if self._needle or self.placed else self._in_line

    def lines(self, file: int, size: int) -> Iterator[tuple[int, str]]:
        """The number and the shown text of each line that matches. A binary file has none. May raise TooLong."""
        first = 1
        for block in _blocks(file, size):
            if self._needle in block:
                yield from self._matching(_text(block, first), first)
            first += block.count(b"\n")

    def _matching(self, text: str, first: int) -> Iterator[tuple[int, str]]:
        # One test of all the text first: most files hold no match.
        if text and self._in_text(text):
            for number, line in enumerate(text.removesuffix("\n").split("\n"), first):
                if self._in_line(line):
                    yield number, _cut(line)


def _containing(needle: str) -> Test:
    return lambda line: needle in line


def _expression(query: Query, *, plain: bool) -> Test:
    source = escaped(query.pattern) if plain else query.pattern
    try:
        # First without the flags below, which are not the model's, so that errors are about its own words.
        compiled(source)
    except BadPattern as error:
        raise BadPattern(f"the pattern does not compile: {error}") from None
    # m: in a text of many lines ^ and $ are the ends of each.
    return compiled(f"(?m{'i' * query.ignore_case}){source}")


def _any_text(_: str) -> bool:
    return True


def _text(block: bytes, first: int) -> str:
    text = block.removeprefix(_BOM if first == 1 else b"").decode("utf-8", "replace")
    return text.replace("\r\n", "\n") if b"\r\n" in block else text


def _blocks(file: int, size: int) -> Iterator[bytes]:
    """Whole lines, about a chunk at a time, up to the first chunk with a zero byte."""
    rest, position, wanted = b"", 0, _FIRST_BYTES
    while True:
        data = os.read(file, wanted)
        position += len(data)
        if b"\0" in data:
            return
        block, rest = rest + data, b""
        if not data or position >= size:
            if block:
                yield block
            return
        end = block.rfind(b"\n") + 1
        block, rest = block[:end], block[end:]
        if len(rest) > MAX_LINE_BYTES:
            raise TooLong
        if block:
            yield block
        wanted = _CHUNK_BYTES


def _cut(line: str) -> str:
    if len(line) <= SHOWN_CHARS:
        return line
    return f"{line[:SHOWN_CHARS]}{MORE}{len(line) - SHOWN_CHARS} characters more]"
