"""Where a balanced piece of text ends. Knows strings and brackets, but not whether a piece is JSON."""

from __future__ import annotations

import re

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.repair.bounds import MAX_DEPTH

# A single quote begins a string only where a value or a key may stand; elsewhere it is an apostrophe.
_TOKENS = r"""[{\[,:][ \t\r\n]*+'(?:[^'\\]++|\\.)*+'|"(?:[^"\\]++|\\.)*+"?|[{}\[\]]"""
IN_PROSE = re.compile(_TOKENS, re.DOTALL)
# No JSON holds a `<` outside its strings: it ends the search, so that no other tag is run over.
IN_MARKUP = re.compile(_TOKENS + "|<", re.DOTALL)
# Gemma's own quote stands on both sides of a string.
IN_GEMMA = re.compile(rf'<\|"\|>(?:[^<]++|<(?!\|"\|>)|(?!))*+<\|"\|>|{_TOKENS}|<', re.DOTALL)
_DEPTH = {"{": 1, "[": 1, "}": -1, "]": -1}


@dataclass(frozen=True, slots=True)
class Span:
    """`end` is one past the closing bracket, or where the search gave up."""

    end: int
    closed: bool


def span(text: str, start: int, tokens: re.Pattern[str] = IN_PROSE) -> Span:
    """The bracket at `start` up to the one that closes it; gives up where it nests deeper than MAX_DEPTH."""
    depth = 0
    for token in tokens.finditer(text, start):
        word = token[0]
        if word == "<":
            return Span(token.start(), closed=False)
        depth += _DEPTH.get(word[0], 0)
        if depth == 0 and word[0] != '"':
            return Span(token.end(), closed=True)
        if depth > MAX_DEPTH:
            return Span(token.end(), closed=False)
    return Span(len(text), closed=False)
