"""JSON, and the two mildest repairs of it: control characters in strings, commas before a closer.

Reads values of every kind; that arguments must be an object is the cascade's to say.
"""

from __future__ import annotations

import re

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.tools.repair.bounds import STRING
from hookgate.tools.repair.values import Reading

_CONTROL = re.compile(r"[\x00-\x1f]")
_ESCAPED_CONTROL = re.compile(r"(?<!\\)(?:\\\\)*+\\[\x00-\x1f]")
_STRINGS = re.compile(f"({STRING})", re.DOTALL)
# One match is a run of all that stays, and then the commas that go: the whole walk happens inside `re`.
_KEPT = re.compile(
    rf'((?:[^",]++|{STRING}|,[ \t\r\n,]*+(?![ \t\r\n,}}\]])|(?!))*+)(?:,[ \t\r\n,]*+(?=[}}\]]))?', re.DOTALL
)
_ESCAPES = {chr(code): f"\\u{code:04x}" for code in range(0x20)}


def read_json(text: str) -> Reading | None:
    """The value of a text that is JSON but for `ctrl` and `comma`; None where it is not.

    The parser bears any depth; a bound is the caller's.
    """
    try:
        return Reading(decode(text))
    except BadMessage:
        mended, steps = mend(text)
    return _read_mended(mended, steps) if steps else None


def mend(text: str) -> tuple[str, tuple[str, ...]]:
    """The text with both mild repairs, and the names of those that changed it.

    A comma before a closer is never JSON, so mending more than a text needs cannot change what it says.
    """
    escaped = _escape_controls(text)
    bare = "".join(_KEPT.findall(escaped)) if "," in escaped else escaped
    steps = ("ctrl",) if escaped != text else ()
    return bare, (*steps, "comma") if bare != escaped else steps


def _read_mended(text: str, steps: tuple[str, ...]) -> Reading | None:
    try:
        return Reading(decode(text), steps)
    except BadMessage:
        return None


def _escape_controls(text: str) -> str:
    # A backslash before a raw newline is a bad escape; escaping the newline would make it a good one.
    if not _CONTROL.search(text) or _ESCAPED_CONTROL.search(text):
        return text
    parts = _STRINGS.split(text)
    # What stands between strings holds no quote, so one quote joins and splits all of it at once.
    between = '"'.join(parts[::2]).replace("\n", " ").replace("\r", " ").replace("\t", " ")
    parts[::2] = between.split('"')
    blanked = escaped = "".join(parts)
    for character, escape in _ESCAPES.items():
        escaped = escaped.replace(character, escape)
    return escaped if escaped != blanked else text
