"""Code fences: where one ends and what it holds. Does not judge what it finds."""

from __future__ import annotations

import re

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.extract.marks import CLOSERS, FENCE, LINE_OF_CODE, skip
from hookgate.tools.repair.spans import span

_BLANKS = re.compile(r"\s*+")


@dataclass(frozen=True, slots=True)
class Fence:
    """`end` is one past the closing line, or the end of the text; `value` is the one bracketed piece, if any."""

    end: int
    language: str
    content: str
    closed: bool
    value: str = ""


def read_fence(text: str, start: int, *, deep: bool = True) -> Fence | None:
    """The fence whose backticks stand at `start`; None where they open none.

    Without `deep`, a line of backticks inside a string of the value ends the fence: one search for a value that
    never ends is enough for a text.
    """
    opening = FENCE.match(text, start)
    if opening is None:
        line = LINE_OF_CODE.match(text, start)
        return Fence(line.end(), "code", "", closed=True) if line else None
    run = opening["run"].strip()
    # Tildes fence no call, whatever language they name.
    language = opening["info"].strip().lower() if run[0] == "`" else "~"
    value = _value(text, opening, re.escape(run)) if deep and run[0] == "`" else None
    if value is not None:
        return Fence(value[0], language, text[opening.end() : value[1]], closed=True, value=value[2])
    line = re.compile(rf"^[ \t]*+{re.escape(run)}{run[0]}*+[ \t]*+$", re.MULTILINE).search(text, opening.end())
    if line is None:
        return Fence(len(text), language, text[opening.end() :], closed=False)
    content = text[opening.end() : line.start()]
    return Fence(line.end(), language, content, closed=True, value=_only_value(content))


def _value(text: str, opening: re.Match[str], run: str) -> tuple[int, int, str] | None:
    """Where the fence ends, where its content ends, and the bracketed piece that is all of it."""
    start = skip(_BLANKS, text, opening.end())
    if text[start : start + 1] not in ("{", "["):
        return None
    piece = span(text, start)
    after = skip(CLOSERS, text, piece.end)
    shut = re.compile(rf"[ \t]*+(?:\n\s*+)?+{run}`*+[ \t]*+(?=\n|\Z)").match(text, after) if piece.closed else None
    return (shut.end(), after, text[start : piece.end]) if shut else None


def _only_value(content: str) -> str:
    bare = content.strip()
    if bare[:1] not in ("{", "["):
        return ""
    piece = span(bare, 0)
    return bare[: piece.end] if piece.closed and skip(CLOSERS, bare, piece.end) == len(bare) else ""
