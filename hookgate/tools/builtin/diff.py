"""Edits of one text: where each applies, the text that results, and the rows that show it. No I/O.

Everything is found in the text with LF line ends, and applied to the text as it is: what no edit touches keeps
its bytes, also in a file that mixes line ends.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from itertools import pairwise

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.edits import Replacement
from hookgate.tools.errors import ToolError

CONTEXT_LINES = 3
# Above this many lines on a side the matcher's quadratic time shows; such a hunk is shown as all old, all new.
_MATCHED_LINES = 400


@dataclass(frozen=True, slots=True)
class Span:
    """Where an edit applies, in the text with LF line ends."""

    start: int
    end: int
    new: str


def locate(text: str, edits: Sequence[Replacement], path: str) -> tuple[Span, ...]:
    """The spans in order. `text` has LF line ends. Raises ToolError (validation) naming the edit, counted from 1."""
    if not edits:
        raise _wrong("at least one edit is required")
    spans = sorted((_span(text, edit, i, path) for i, edit in enumerate(edits, 1)), key=lambda span: span.start)
    if any(left.end > right.start for left, right in pairwise(spans)):
        raise _wrong("edits overlap; merge them into one edit")
    return tuple(spans)


def _span(text: str, edit: Replacement, number: int, path: str) -> Span:
    old, new = lf(edit.old), lf(edit.new)
    if not old:
        raise _wrong(f"edit {number}: oldText must not be empty")
    if old == new:
        raise _wrong(f"edit {number}: oldText equals newText")
    start = text.find(old)
    if start < 0:
        raise _wrong(f"edit {number}: oldText not found in {path}")
    if text.find(old, start + 1) >= 0:
        count = max(text.count(old), 2)
        raise _wrong(f"edit {number}: oldText matches {count} times (must be unique) in {path}")
    return Span(start, start + len(old), new)


def _wrong(reason: str) -> ToolError:
    return ToolError("validation", "edit", reason)


def lf(text: str) -> str:
    return text.replace("\r\n", "\n")


def applied(original: str, spans: Sequence[Span]) -> str:
    """`original` with its own line ends and the spans replaced; new text gets the line end that prevails."""
    breaks = _crlf_breaks(original)
    ending = "\r\n" if 2 * len(breaks) > original.count("\n") else "\n"
    parts: list[str] = []
    position = 0
    for span in spans:
        start = span.start + bisect_left(breaks, span.start)
        parts += [original[position:start], span.new.replace("\n", ending)]
        position = span.end + bisect_left(breaks, span.end)
    return "".join([*parts, original[position:]])


def _crlf_breaks(original: str) -> list[int]:
    """Where the CR LFs of `original` stand in the text with LF line ends."""
    breaks: list[int] = []
    position = original.find("\r\n")
    while position >= 0:
        breaks.append(position - len(breaks))
        position = original.find("\r\n", position + 2)
    return breaks


# --- rows ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Change:
    """Whole lines: `first` is the number of the first old one, counted from 0."""

    first: int
    old: list[str]
    new: list[str]

    @property
    def end(self) -> int:
        return self.first + len(self.old)


def rows(text: str, spans: Sequence[Span]) -> str:
    """The diff: rows that begin with blank, `-` or `+`, three lines of context, `...` between hunks, no header."""
    lines = text.split("\n")
    out: list[str] = []
    shown = 0
    for change in _changes(text, spans):
        start = max(change.first - CONTEXT_LINES, 0)
        if out:
            after = min(shown + CONTEXT_LINES, len(lines), max(change.first, shown))
            out += [f" {line}" for line in lines[shown:after]]
            if start > after:
                out.append("...")
            start = max(start, after)
        out += [f" {line}" for line in lines[start : change.first]]
        out += [f"-{line}" for line in change.old] + [f"+{line}" for line in change.new]
        shown = change.end
    out += [f" {line}" for line in _tail(lines[shown : shown + CONTEXT_LINES], shown + CONTEXT_LINES >= len(lines))]
    return "\n".join(out)


def _tail(lines: list[str], at_end: bool) -> list[str]:
    """Without the empty string that splitting leaves after a last line break."""
    return lines[:-1] if at_end and lines and not lines[-1] else lines


def _changes(text: str, spans: Sequence[Span]) -> Iterator[_Change]:
    first, counted = 0, 0
    for group in _groups(text, spans):
        start = text.rfind("\n", 0, group[0].start) + 1
        stop = text.find("\n", group[-1].end)
        stop = len(text) if stop < 0 else stop
        first, counted = first + text.count("\n", counted, start), start
        yield from _trimmed(first, text[start:stop].split("\n"), _replaced(text, group, start, stop).split("\n"))


def _groups(text: str, spans: Sequence[Span]) -> Iterator[list[Span]]:
    """Spans that share a line belong together."""
    group: list[Span] = []
    for span in spans:
        if group and "\n" in text[group[-1].end : span.start]:
            yield group
            group = []
        group.append(span)
    if group:
        yield group


def _replaced(text: str, group: Sequence[Span], start: int, stop: int) -> str:
    parts: list[str] = []
    for span in group:
        parts += [text[start : span.start], span.new]
        start = span.end
    return "".join([*parts, text[start:stop]])


def _trimmed(first: int, old: list[str], new: list[str]) -> Iterator[_Change]:
    if max(len(old), len(new)) > _MATCHED_LINES:
        yield _Change(first, old, new)
        return
    for tag, a, b, c, d in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if tag != "equal":
            yield _Change(first + a, old[a:b], new[c:d])
