"""What stands after an explicit opener: the end of the fragment and the calls in it. Looks for no openers."""

from __future__ import annotations

import json
import re
from collections.abc import Collection

from hookgate.tools.extract.judge import CUT, judge_arguments, judge_explicit, undeclared
from hookgate.tools.extract.marks import ANOTHER, BODY, CLOSERS, FENCE_END, closing, skip
from hookgate.tools.extract.values import Fragment, Problem
from hookgate.tools.repair import Reading
from hookgate.tools.repair.bounds import STRING
from hookgate.tools.repair.cascade import read_lossless
from hookgate.tools.repair.spans import IN_GEMMA, IN_MARKUP, span

_UNREADABLE = Problem("what follows the opener is not JSON")
_QUOTE = '<|"|>'
_GEMMA_END = re.compile(r"<tool_call\|>", re.IGNORECASE)
_BLANKS = re.compile(r"\s*+")


def read_explicit(opener: re.Match[str], names: Collection[str]) -> Fragment | None:
    """The fragment that an opener begins; None where no body follows, so that it is only prose."""
    if opener["gemma"]:
        return _gemma(opener, names)
    body = BODY.match(opener.string, opener.end())
    if body is None:
        return None
    piece = span(opener.string, body.end(), IN_MARKUP)
    reading = read_lossless(opener.string[body.end() : piece.end]) if piece.closed else None
    if reading is None:
        return _broken(opener, body.end(), CUT if not piece.closed else _UNREADABLE)
    end = _past_closers(opener.string, piece.end, fenced=bool(body["fence"]))
    return _with_others(opener, Fragment(opener.start(), end, judge_explicit(reading, names)), names)


def _with_others(opener: re.Match[str], first: Fragment, names: Collection[str]) -> Fragment:
    """Further calls under one opener: behind a semicolon, or up to the closing tag; what is neither is prose."""
    text, tag = opener.string, closing(opener)
    end, verdict, proper = first.end, first.verdict, first
    while (shut := tag.match(text, skip(_BLANKS, text, end)) if tag else None) is None:
        another = ANOTHER.match(text, end)
        reading, after = _read_another(text, another.end()) if another else (None, end)
        if another is None or reading is None:
            return proper
        end, verdict = _past_closers(text, after, fenced=False), (*verdict, *judge_explicit(reading, names))
        if another["semicolon"]:
            proper = Fragment(first.start, end, verdict)
    return Fragment(first.start, shut.end(), verdict)


def _read_another(text: str, start: int) -> tuple[Reading | None, int]:
    """An object that looks like a call, and where it ends."""
    piece = span(text, start, IN_MARKUP)
    reading = read_lossless(text[start : piece.end]) if piece.closed else None
    value = reading.value if reading else None
    return (reading if isinstance(value, dict) and {"name", "function"} & value.keys() else None), piece.end


def _gemma(opener: re.Match[str], names: Collection[str]) -> Fragment:
    text, name = opener.string, opener["gemma"]
    piece = span(text, opener.end(), IN_GEMMA)
    reading = read_lossless(_unfamiliar(text[opener.end() : piece.end])) if piece.closed else None
    if reading is None:
        return _broken(opener, opener.end(), _UNREADABLE if piece.closed else CUT)
    found = judge_arguments(name, reading.value, reading.steps) if name in names else undeclared(name, names)
    end = skip(_BLANKS, text, _past_closers(text, piece.end, fenced=False))
    shut = _GEMMA_END.match(text, end)
    return Fragment(opener.start(), shut.end() if shut else piece.end, (found,))


def _unfamiliar(text: str) -> str:
    """The family's own quotes as JSON's: what stands between two of them is text as it is."""
    parts = text.split(_QUOTE)
    parts[1::2] = (json.dumps(part, ensure_ascii=False) for part in parts[1::2])
    return "".join(parts)


def _broken(opener: re.Match[str], start: int, problem: Problem) -> Fragment:
    """Up to the first closing tag of its kind outside a string, or to the end of the text."""
    text, tag = opener.string, closing(opener)
    end = len(text)
    if tag is not None:
        words = re.compile(f"{STRING}|(?P<closing>{tag.pattern})", re.DOTALL | re.IGNORECASE)
        end = next((word.end() for word in words.finditer(text, start) if word["closing"]), end)
    return Fragment(opener.start(), end, (problem,))


def _past_closers(text: str, end: int, *, fenced: bool) -> int:
    """Past the closers that are left over, and past the fence that the body stood in."""
    end = skip(CLOSERS, text, end)
    return skip(CLOSERS, text, skip(FENCE_END, text, end)) if fenced else end
