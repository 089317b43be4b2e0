"""What became of one file, as lines of a unified diff; one line where there is no text to show. No I/O."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

from hookgate.protocol.dataclasses import dataclass

CONTEXT_LINES = 3
# Above this many changed lines on both sides the matcher's quadratic time shows.
_MATCHED_LINES = 3000
Opcode = tuple[Literal["replace", "delete", "insert", "equal"], int, int, int, int]
_NO_NEWLINE = "\\ No newline at end of file"


@dataclass(frozen=True, slots=True)
class Content:
    """A file at one moment; `data` is None where it is too large to be kept, and then the stamp tells a change."""

    size: int
    data: bytes | None
    stamp: tuple[int, int] = (0, 0)

    def same(self, other: Content) -> bool:
        if self.data is not None and other.data is not None:
            return self.data == other.data
        return (self.size, self.stamp) == (other.size, other.stamp)


def diff(path: str, before: Content | None, after: Content | None) -> list[str]:
    """None: no such file then. Empty where nothing changed."""
    if before is after or (before and after and before.same(after)):
        return []
    old, new = _text(before), _text(after)
    if old is None or new is None:
        return [_summary(path, before, after)]
    hunks = _hunks(_lines(old), _lines(new))
    if hunks is None:
        return [f"{_summary(path, before, after)}, too many lines to compare"]
    if not hunks:
        return [_summary(path, before, after)]
    header = [f"--- a/{path}" if before else "--- /dev/null", f"+++ b/{path}" if after else "+++ /dev/null"]
    return [*header, *hunks]


def _text(content: Content | None) -> str | None:
    if content is None:
        return ""
    if content.data is None or b"\0" in content.data[:8192]:
        return None
    return content.data.decode("utf-8", "replace")


def _lines(text: str) -> list[str]:
    """With their line feeds; only those end a line."""
    *whole, rest = text.split("\n")
    return [*(f"{line}\n" for line in whole), *([rest] if rest else [])]


def _summary(path: str, before: Content | None, after: Content | None) -> str:
    match before, after:
        case Content(), Content():
            return f"{path}: changed, {before.size} -> {after.size} bytes"
        case _, Content():
            return f"{path}: created, {after.size} bytes"
        case Content(), _:
            return f"{path}: deleted, {before.size} bytes"
        case _:
            return path


# --- hunks --------------------------------------------------------------------------------------------------


def _hunks(a: Sequence[str], b: Sequence[str]) -> list[str] | None:
    """None where it would take too long. Only what lies between the lines that both begin and end with is matched."""
    start = _common(a, b)
    end = min(_common(a[::-1], b[::-1]), min(len(a), len(b)) - start)
    if min(len(a), len(b)) - start - end > _MATCHED_LINES:
        return None
    if start == len(a) == len(b):
        return []
    lines: list[str] = []
    for group in _Matcher(a, b, start, end).get_grouped_opcodes(CONTEXT_LINES):
        lines += _hunk(a, b, group)
    return lines


class _Matcher(SequenceMatcher[str]):
    """Of lines that begin and end alike, `start` and `end` of them. A change may be found at either end of what lies
    between, so its context is taken from the whole: git takes a hunk without context behind it for the file's end."""

    def __init__(self, a: Sequence[str], b: Sequence[str], start: int, end: int) -> None:
        super().__init__(None, a[start : len(a) - end], b[start : len(b) - end])
        self._before = start
        self._whole = len(a), len(b)

    def get_opcodes(self) -> list[Opcode]:
        shift, (old, new) = self._before, self._whole
        between: list[Opcode] = [
            (tag, i1 + shift, i2 + shift, j1 + shift, j2 + shift) for tag, i1, i2, j1, j2 in super().get_opcodes()
        ]
        _, _, i2, _, j2 = between[-1]
        return [("equal", 0, shift, 0, shift), *between, ("equal", i2, old, j2, new)]


def _common(a: Sequence[str], b: Sequence[str]) -> int:
    return next((i for i, (left, right) in enumerate(zip(a, b, strict=False)) if left != right), min(len(a), len(b)))


def _hunk(a: Sequence[str], b: Sequence[str], group: Sequence[tuple[str, int, int, int, int]]) -> Iterator[str]:
    first, last = group[0], group[-1]
    yield f"@@ -{_range(first[1], last[2])} +{_range(first[3], last[4])} @@"
    for tag, i1, i2, j1, j2 in group:
        if tag == "equal":
            yield from _marked(" ", a[i1:i2])
        else:
            yield from _marked("-", a[i1:i2])
            yield from _marked("+", b[j1:j2])


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield mark + line.removesuffix("\n")
        if not line.endswith("\n"):
            yield _NO_NEWLINE


def _range(start: int, stop: int) -> str:
    """Lines count from 1; an empty range names the line before it."""
    count = stop - start
    return str(start + 1) if count == 1 else f"{start + 1 if count else start},{count}"
