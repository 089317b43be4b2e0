"""Why a text is not read, and what would fix it: the words for the model. Repairs nothing."""

from __future__ import annotations

import re

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json
from hookgate.tools.repair.values import Undecodable

AGAIN = "Send the arguments again as one JSON object that fits the tool's schema."

_PLACE = re.compile(r" at line ([0-9]+) column ([0-9]+)\Z")
_CHARACTER = re.compile(r": line [0-9]+ column [0-9]+ \(char ([0-9]+)\)\Z")

# What the parser says, in part, to what cures it; the first that fits.
_FIXES = (
    ("escape", r"Write a backslash inside a string as \\ and a quote as \"."),
    ("surrogate", r"Write characters as they are, or both halves of a \u pair."),
    ("key must be a string", 'Put every key in double quotes, and no comma before the first one: {"key": "value"}.'),
    ("expected `,` or", r"Put a comma between two members, close each bracket in order, and write a quote as \"."),
    ("expected `:`", 'Put a colon between a key and its value: {"key": "value"}.'),
    ("invalid number", "Write numbers plainly: no leading zeros, no words."),
    ("NaN", "Write null or a string instead of NaN or Infinity."),
    ("too large", "Write a number of that size as a string."),
    ("out of range", "Write a number of that size as a string."),
    ("EOF while parsing", "The text ends too early; send it again whole, and split large content."),
    ("trailing characters", "Send the object alone, with no text before or after it."),
)


def not_json(text: str) -> Undecodable:
    """The strict parser's complaint about a text that no step reads."""
    try:
        value = decode(text)
    except BadMessage as error:
        message = str(error)
    else:
        return not_an_object(value)
    reason = f"the arguments are not JSON: {message}"
    return Undecodable(reason, _position(text, message), f"{_fix(message)} {AGAIN}")


def not_an_object(value: Json) -> Undecodable:
    return Undecodable(f"the arguments must be a JSON object, not {_kind(value)}", 0, AGAIN)


def _fix(message: str) -> str:
    return next((fix for part, fix in _FIXES if part in message), "Write plain JSON, in double quotes.")


def _position(text: str, message: str) -> int:
    """The parser counts lines and bytes from 1; what is told counts characters from 0."""
    if character := _CHARACTER.search(message):
        return int(character[1])
    place = _PLACE.search(message)
    if place is None:
        return 0
    lines = text.split("\n")[: int(place[1])]
    last = lines.pop().encode()[: max(0, int(place[2]) - 1)].decode(errors="ignore")
    return min(sum(len(line) + 1 for line in lines) + len(last), len(text))


def _kind(value: Json) -> str:
    match value:
        case list():
            return "an array"
        case str():
            return "a string"
        case bool():
            return "a boolean"
        case None:
            return "null"
        case _:
            return "a number"
