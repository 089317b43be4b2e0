"""The repair cascade: each step reads the original text and what milder ones read; the first success wins.

Only says what the arguments are and what reading them took. Whether a cut or guessed reading may run is the
caller's rule, as is where a guess may take its time.
"""

from __future__ import annotations

from typing import cast

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.repair.bounds import MAX_BYTES, MAX_DEPTH, encodable, too_deep, too_long
from hookgate.tools.repair.cut import read_cut
from hookgate.tools.repair.embedded import read_embedded
from hookgate.tools.repair.faults import AGAIN, not_an_object, not_json
from hookgate.tools.repair.guess import read_guess
from hookgate.tools.repair.read import read_json
from hookgate.tools.repair.relaxed import read_relaxed
from hookgate.tools.repair.values import Decoded, Reading, Undecodable

SHORT_CHARS = 64 * 1024
"""Reading a text in vain before it is mended costs nobody anything up to here."""

# JSON's own; other blanks round an object are prose.
_BLANKS = " \t\r\n"


def decode_arguments(text: str, *, guess: bool = True) -> Decoded:
    """The arguments that a text says. Raises Undecodable and nothing else; linear in the text.

    With `guess` and the json-repair package installed, a text of up to 2 KiB that no other step reads may take
    a third of a second: call with `guess=False` first where that thread has other work.
    """
    plain = plain_object(text)
    if plain is not None:
        return Decoded(plain)
    if too_long(text):
        fix = f"Split large content into several calls. {AGAIN}"
        raise Undecodable(f"the arguments have more than {MAX_BYTES} bytes", 0, fix)
    bare = encodable(text).removeprefix("\ufeff").lstrip(_BLANKS)
    try:
        reading = _read(bare, guess=guess)
    except Undecodable as error:
        # What was dropped from the front still counts for whoever looks at the text as it came.
        raise Undecodable(error.reason, error.position + len(text) - len(bare), error.fix) from None
    last = reading.steps[-1] if reading.steps else ""
    value = cast("JsonObject", reading.value)
    return Decoded(value, reading.steps, truncated=last == "TRUNC", guessed=last == "GUESS")


def plain_object(text: str) -> JsonObject | None:
    """The object that nearly every text is, as it stands; None where that takes a closer look."""
    if not text.startswith("{") or len(text) > SHORT_CHARS or too_deep(text):
        return None
    try:
        value: Json = decode(encodable(text))
    except BadMessage:
        return None
    return value if isinstance(value, dict) else None


def _read(text: str, *, guess: bool) -> Reading:
    stripped = text.rstrip(_BLANKS)
    if text.strip() in ("", "null"):
        return Reading({}, ("empty",))
    if too_deep(stripped):
        return _read_deep(stripped)
    reading = read_lossless(stripped)
    if reading is not None:
        return _object(reading)
    reading = read_embedded(stripped) or (read_cut(text) if text[0] == "{" else None)
    if reading is None and guess:
        reading = read_guess(stripped)
    if reading is None:
        raise not_json(stripped)
    return reading


def read_lossless(text: str) -> Reading | None:
    """A value of any kind by the steps that read a text as a whole and lose nothing of it.

    The caller has bounded the depth.
    """
    return read_json(text) or (read_relaxed(text) if text[:1] in ("{", "[", "/") else None)


def _object(reading: Reading) -> Reading:
    """The object, also out of a string that holds one: some servers encode arguments twice."""
    value = reading.value
    if isinstance(value, str):
        return _unquoted(value, reading)
    return _checked(reading)


def _unquoted(inner: str, outer: Reading) -> Reading:
    bare = inner.strip()
    reading = read_lossless(bare) if bare[:1] in ("{", "/") and not too_deep(bare) else None
    if reading is None:
        raise not_an_object(inner)
    strongest = (*reading.steps, *outer.steps)
    return _checked(Reading(reading.value, ("unquote", *dict.fromkeys(strongest))))


def _checked(reading: Reading) -> Reading:
    if not isinstance(reading.value, dict):
        raise not_an_object(reading.value)
    return reading


def _read_deep(text: str) -> Reading:
    """Brackets inside a single-quoted string are no depth; the relaxed step counts for itself."""
    reading = read_relaxed(text) if "'" in text and text[0] in "{/" else None
    if reading is None:
        raise Undecodable(f"the arguments nest deeper than {MAX_DEPTH}", 0, f"Nest less deeply. {AGAIN}")
    return _checked(reading)
