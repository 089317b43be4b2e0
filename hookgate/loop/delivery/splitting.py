"""A text in parts that a channel can take, cut where Markdown can be cut. Knows no channel but its limit.

A code fence that is cut is closed and opened again with its language. Takes time linear in the text.
"""

from __future__ import annotations

import re
import unicodedata
from bisect import bisect_right
from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import accumulate

from hookgate.protocol.chat.channel import ChannelLimits, TextUnit
from hookgate.protocol.dataclasses import dataclass

_WHOLE = re.compile(
    r"!?\[[^\[\]\n]{0,200}\]\([^()\n]{0,2000}\)|<[a-z]+:[^<>\s]{0,2000}>|https?://[^\s<>]{1,2000}|`[^`\n]{1,200}`"
)
"""Links and code in a line: of no use when they are cut."""
_OPENS = re.compile(r"[ \t]{0,3}(?:`{3}|~{3})")
_CLOSES = re.compile(r"[ \t]{0,3}(?:`{3,}|~{3,})[ \t]*$", re.MULTILINE)
"""What would be a fence's first or last line at the beginning of a part, and is neither within its line."""
_SPACE = re.compile(r"\s+")
_JOINERS = "\u200d\ufe0e\ufe0f\u20e3"

_WIDTHS: dict[TextUnit, Callable[[str], int]] = {
    "chars": lambda _char: 1,
    "utf16": lambda char: 2 if ord(char) > 0xFFFF else 1,
    "bytes": lambda char: len(char.encode("utf-8", "surrogatepass")),
}


def measure(text: str, unit: TextUnit) -> int:
    return len(text) if unit == "chars" else sum(map(_WIDTHS[unit], text))


def split(text: str, limits: ChannelLimits) -> tuple[str, ...]:
    """At least one part; none is longer than the limit, unless a single character is."""
    if not limits.longest or measure(text, limits.unit) <= limits.longest:
        return (text,)
    shown = (piece.shown(text) for piece in pieces(text, limits))
    return tuple(it for it in shown if it.strip()) or (text[:1],)


@dataclass(frozen=True, slots=True)
class Piece:
    """From `start` to `end` of the text; `opening` and `closing` are put round it, so that a cut fence is whole."""

    start: int
    end: int
    opening: str = ""
    closing: str = ""

    def shown(self, text: str) -> str:
        body = text[self.start : self.end]
        body = body if self.opening else body.lstrip("\n")
        if not self.closing:
            return f"{self.opening}{body}".rstrip()
        return f"{self.opening}{body}{'' if body.endswith(chr(10)) else chr(10)}{self.closing}"


def pieces(text: str, limits: ChannelLimits) -> list[Piece]:
    """All of the text, in order, nothing twice."""
    markdown, found, at = _Markdown(text, limits.unit), list[Piece](), 0
    half = limits.longest / 2
    while at < len(text):
        fence, opening, closing, room = markdown.fence_at(at), "", "", limits.longest
        # A fence that leaves less room than it takes is not opened again, nor closed.
        if fence is not None and room - markdown.extra >= half:
            opening, room = fence.opening, room - markdown.extra
        end = markdown.cut(at, room)
        inside = markdown.fence_at(end) if end < len(text) else None
        if inside is not None and inside is fence:
            closing = inside.closing if opening else ""
        elif inside is not None and room - markdown.closing >= half:
            end = markdown.cut(at, room - markdown.closing)
            inside = markdown.fence_at(end)
            closing = inside.closing if inside is not None and inside is not fence else ""
        found.append(Piece(at, end, opening, closing))
        at = end
    return found


@dataclass(frozen=True, slots=True)
class _Fence:
    """`start`: of its first line; `inner` and `outer`: where its content begins and ends."""

    start: int
    inner: int
    outer: int
    opening: str
    closing: str


class _Markdown:
    """Where a text may be cut."""

    def __init__(self, text: str, unit: TextUnit) -> None:
        self._text = text
        # Up to each character, so that the next cut is found by halving.
        self._sizes = [0, *accumulate(map(_WIDTHS[unit], text))]
        self._lines = [0, *(it.end() for it in re.finditer("\n", text))]
        self._fences, self._blocks = self._parsed()
        self.closing = max((measure(it.closing, unit) + 1 for it in self._fences), default=0)
        """What the end of a cut fence takes, at most."""
        self.extra = max((measure(it.opening, unit) for it in self._fences), default=0) + self.closing
        """Its beginning and its end."""

    def fence_at(self, at: int) -> _Fence | None:
        """The one that a cut here would be in."""
        index = bisect_right(self._fences, at, key=lambda it: it.inner) - 1
        fence = self._fences[index] if index >= 0 else None
        return fence if fence is not None and at <= fence.outer else None

    def cut(self, start: int, room: int) -> int:
        """The best place for a cut after `start`, where no more than `room` lies between; always some progress."""
        last = bisect_right(self._sizes, self._sizes[start] + max(room, 1)) - 1
        if last >= len(self._text):
            return len(self._text)
        least = start + (last - start) // 3
        # Space at the end of a part takes no room.
        over = _SPACE.match(self._text, last)
        last = over.end() if over is not None and self.fence_at(over.end()) is None else last
        for places in (self._blocks, self._lines):
            found = _last(places, least, last)
            if found is not None and not self._is_edge(found):
                return found
        spaces = (it for it in reversed(list(_SPACE.finditer(self._text, least, last))) if it.end() > start)
        for space in spaces:
            if not self._within(space.end()) and not self._in_fence_marks(space.end()):
                return space.end()
        whole = self._within(last)
        if whole is not None and whole[0] > start and not self._in_fence_marks(whole[0]):
            return whole[0]
        return self._between_characters(start, last)

    def _is_edge(self, at: int) -> bool:
        """Right behind a fence's first line, or before its last: a part would hold an empty one."""
        fence = self.fence_at(at)
        return fence is not None and at in (fence.inner, fence.outer)

    def _within(self, at: int) -> tuple[int, int] | None:
        """The link, say, that a cut here would be in."""
        index = bisect_right(self._wholes, (at, -1)) - 1
        whole = self._wholes[index] if index >= 0 else None
        return whole if whole is not None and whole[0] < at < whole[1] else None

    def _in_fence_marks(self, at: int) -> bool:
        if self.fence_at(at) is not None:
            return _CLOSES.match(self._text, at) is not None
        before, here = self._text[at - 1 : at], self._text[at : at + 1]
        return _OPENS.match(self._text, at) is not None or (before == here and here in ("`", "~"))

    def _between_characters(self, start: int, last: int) -> int:
        """Not before what belongs to the character in front of it, as far as that is found soon."""
        for at in range(max(last, start + 1), max(start, last - 32), -1):
            here, before = self._text[at], self._text[at - 1]
            joined = unicodedata.combining(here) or here in _JOINERS or before == "\u200d"
            if not joined and not self._in_fence_marks(at):
                return at
        return max(last, start + 1)

    @cached_property
    def _wholes(self) -> list[tuple[int, int]]:
        found = (it.span() for it in _WHOLE.finditer(self._text))
        return [it for it in found if self.fence_at(it[0]) is None]

    def _parsed(self) -> tuple[list[_Fence], list[int]]:
        """Fences, and where blocks begin that stand in no other."""
        # Dear to import, and most channels have no limit.
        from markdown_it import MarkdownIt

        markdown = MarkdownIt("commonmark")
        markdown.core.ruler.enableOnly(["normalize", "block"])
        # A line for Markdown ends at a carriage return too.
        tokens = markdown.parse(self._text.replace("\r", " "))
        blocks = [self._line(it.map[0]) for it in tokens if it.map and it.level == 0 and it.nesting >= 0]
        fences = [self._fence(it.map, it.markup) for it in tokens if it.map and it.type == "fence"]
        return fences, sorted(set(blocks))

    def _line(self, number: int) -> int:
        return self._lines[number] if number < len(self._lines) else len(self._text)

    def _fence(self, lines: Sequence[int], markup: str) -> _Fence:
        first, inner = self._line(lines[0]), self._line(lines[0] + 1)
        opening = self._text[first:inner]
        last = self._text[self._line(lines[1] - 1) : self._line(lines[1])]
        marks = last.strip().strip(">").strip()
        closed = lines[1] - lines[0] > 1 and marks.startswith(markup) and not marks.strip(markup[0])
        outer = self._line(lines[1] - 1) if closed else self._line(lines[1])
        # In a list the mark of the item is not put there again.
        before = re.sub(r"[^\s>]", " ", opening.partition(markup)[0])
        again = before + opening[len(before) :].rstrip("\n") + "\n"
        return _Fence(first, inner, outer, again, before + markup)


def _last(places: Sequence[int], least: int, last: int) -> int | None:
    index = bisect_right(places, last) - 1
    return places[index] if index >= 0 and places[index] > least else None
