"""One whole object with prose, a fence or left-over closers around it. Never opens what encloses an object."""

from __future__ import annotations

import re

from hookgate.tools.repair.read import read_json
from hookgate.tools.repair.relaxed import read_relaxed
from hookgate.tools.repair.spans import span
from hookgate.tools.repair.values import Reading, Undecodable

# A text with more pairs of brackets than this is no object with prose around it.
_MOST_STEPS = 1000

_OPENER = re.compile(r"\{|\[(?=[ \t\r\n]*+[\[{\"'])")
_OBJECT = re.compile(r"""\{[ \t\r\n,]*+(?:["'}]|[\w$-]++[ \t\r\n]*+:)""")
_KEY_BEFORE = re.compile(r"""["'][ \t\r\n]*+:[ \t\r\n]*+\Z""")
_MEMBER_AFTER = re.compile(r"""[ \t\r\n}\]]*+[,:][ \t\r\n]*+["']""")
# Longest text before an object that is looked at for a key it may be the value of.
_KEY_CHARS = 64


def read_embedded(text: str) -> Reading | None:
    """The object, if there is exactly one and it is whole. Raises Undecodable where there is a second."""
    found: list[tuple[int, int, Reading | None]] = []
    for start, end in _pieces(text):
        piece = text[start:end]
        reading = read_json(piece)
        if reading is not None or read_relaxed(piece) is not None:
            found.append((start, end, reading))
        if len(found) > 1:
            raise Undecodable("the text holds two objects", start, "Send one JSON object; make two calls for two.")
    return _alone(text, *found[0]) if found else None


def _alone(text: str, start: int, end: int, reading: Reading | None) -> Reading | None:
    """None where the object looks like a member of one whose brackets are missing or misplaced."""
    before = text[max(0, start - _KEY_CHARS) : start]
    if reading is None or _KEY_BEFORE.search(before) or _MEMBER_AFTER.match(text, end):
        return None
    return Reading(reading.value, (*reading.steps, "embedded"))


def _pieces(text: str) -> list[tuple[int, int]]:
    """Where objects seem to stand; arrays and other braces are stepped over whole.

    None at all where a bracket never closes: what it holds may be a piece of something larger that was cut.
    """
    pieces: list[tuple[int, int]] = []
    position = steps = 0
    while opener := _OPENER.search(text, position):
        piece = span(text, opener.start())
        steps += 1
        if not piece.closed or steps > _MOST_STEPS:
            return []
        if _OBJECT.match(text, opener.start()):
            pieces.append((opener.start(), piece.end))
        position = piece.end
    return pieces
