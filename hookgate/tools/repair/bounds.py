"""How large and how deep a text may be before anything reads it. Parses nothing."""

from __future__ import annotations

import re
from itertools import accumulate

MAX_BYTES = 1024 * 1024
MAX_DEPTH = 64

STRING = r'"(?:[^"\\]++|\\.)*+"?'
"""A whole double-quoted string, or one that never closes; possessive, so that a long one costs one pass."""

_NO_BRACKETS = re.compile(rf"(?:[^\[\]{{}}\"]++|{STRING}|(?!))++", re.DOTALL)
_DEPTH = {"{": 1, "[": 1, "}": -1, "]": -1}


def too_long(text: str) -> bool:
    return len(text) > MAX_BYTES or (not text.isascii() and len(text.encode("utf-8", "surrogatepass")) > MAX_BYTES)


def too_deep(text: str) -> bool:
    """Whether brackets outside double-quoted strings nest deeper than MAX_DEPTH."""
    if text.count("{") + text.count("[") <= MAX_DEPTH:
        return False
    brackets = "".join(_NO_BRACKETS.split(text))
    return max(accumulate(map(_DEPTH.__getitem__, brackets)), default=0) > MAX_DEPTH


def encodable(text: str) -> str:
    """The text with U+FFFD for each lone surrogate: whatever is handed on must survive UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text
