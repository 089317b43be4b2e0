"""Where a text may call: at the start of a line that is no part of anything quoted. Judges no call.

Reads line by line, since nothing that stands later in a line says what its start is. A mark that may open a
quotation opens one, so that what is in doubt is quoted.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.extract.marks import THOUGHT

BREAK = re.compile(rf"\n|{THOUGHT.pattern}", re.IGNORECASE)
"""What ends a line; the end of reasoning does."""

START = re.compile(r" {0,3}(?=[^\s>])")
"""The indentation of a line that is neither a quotation nor an indented block."""

_PAIRS = {
    **{"\u201c": "\u201d", "\u201e": "[\u201c\u201d]", "\u2018": r"\u2019(?!\w)"},
    **{"\u00ab": "\u00bb", "\u00bb": "\u00ab", "\u2039": "\u203a", "\u300c": "\u300d", "\u300e": "\u300f"},
}
_ELEMENTS = "pre|code|kbd|samp|xmp|textarea|blockquote|q|quote|example|tool_response|tool_result|think"
_BEGUN = re.compile(
    rf"""
    ^\ {{0,3}}(?P<said>>)
    |(?P<fence>`{{3,}}+(?=[^`]*+\Z)|^[ \t]*+~{{3,}}+)
    |(?P<ticks>`++)
    |<(?P<element>{_ELEMENTS})(?=[\s/>])
    |(?P<comment><!--)
    |(?<![\w"\\])(?P<double>"|"{{3,}}+)(?!")
    |(?<![\w'\\])(?P<single>'|'{{3,}}+)(?=\s*+\Z)
    |(?P<pair>[\u201c\u201e\u2018\u00ab\u2039\u300c\u300e]|\u00bb(?=\w))
    """,
    re.VERBOSE | re.IGNORECASE,
)
_NOTHING = re.compile("(?!)")
_COMMENT_END = re.compile("-->")


@dataclass(frozen=True, slots=True)
class _Quotation:
    """`ends` is searched for in each line; a `paragraph` ends with it at the latest."""

    ends: re.Pattern[str]
    paragraph: bool = False


class Lines:
    """Given the lines of a text, whether what comes next stands in a quotation."""

    def __init__(self) -> None:
        self._in: _Quotation | None = None
        self._goes_on = False

    @property
    def quoted(self) -> bool:
        return self._in is not None

    def take(self, line: str) -> None:
        """The next line, with what ends it."""
        goes_on, self._goes_on = self._goes_on, not line.endswith("\n")
        if not line.strip():
            if not goes_on and self._in is not None and self._in.paragraph:
                self._in = None
            return
        at = 0
        while (mark := (self._in.ends if self._in else _BEGUN).search(line, at)) is not None:
            at, self._in = mark.end(), None if self._in else _begun(mark)


def starts(text: str) -> frozenset[int]:
    """The places where a call may begin."""
    return frozenset(_starts(text))


def _starts(text: str) -> Iterator[int]:
    lines, at = Lines(), 0
    for end in (*(mark.end() for mark in BREAK.finditer(text)), len(text)):
        start = START.match(text, at, end)
        if start is not None and text[start.end()] in "<[{" and not lines.quoted:
            yield start.end()
        lines.take(text[at:end])
        at = end


def _begun(mark: re.Match[str]) -> _Quotation:
    word = mark[0]
    match mark.lastgroup:
        case "said":
            return _Quotation(_NOTHING, paragraph=True)
        case "fence":
            run = word.strip()
            return _Quotation(re.compile(rf"^[ \t>]*+{run[0]}{{{len(run)},}}+\s*+\Z"))
        case "ticks":
            return _Quotation(re.compile(rf"(?<!`){word}(?!`)"), paragraph=True)
        case "element":
            return _Quotation(re.compile(rf"</{word[1:]}\s*+>", re.IGNORECASE))
        case "comment":
            return _Quotation(_COMMENT_END)
        case "double":
            return _Quotation(re.compile(word[:3]))
        case "single":
            return _Quotation(re.compile(rf"(?<!\w){word[:3]}|{word[:3]}(?!\w)"))
        case _:
            return _Quotation(re.compile(_PAIRS[word]))
