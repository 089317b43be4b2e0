"""Text whose only fault is that it ends early: what had come by then. Closes nothing that is broken otherwise."""

from __future__ import annotations

import json
import re
from typing import cast

from pydantic_core import from_json

from hookgate.protocol.values import Json
from hookgate.tools.repair.read import mend
from hookgate.tools.repair.values import Reading

_HIGH, _LOW = r"\\u[dD][89abAB][0-9a-fA-F]{2}", r"\\u[dD][c-fC-F][0-9a-fA-F]{2}"
# A high half at the very end is not lone: its other half may have been cut.
_LOW_TO_COME = r"(?:\\(?:u(?:[dD](?:[c-fC-F][0-9a-fA-F]?)?)?)?)?\Z"
_LONE = rf"(?:{_HIGH}(?!{_LOW}|{_LOW_TO_COME})|{_LOW})"
# A run of all that stays, and the lone half that ends it.
_PAIRED = re.compile(rf"((?:[^\\]++|{_HIGH}{_LOW}|(?!{_LONE})\\.|\\\Z|(?!))*+)({_LONE}|\Z)", re.DOTALL)
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


def read_cut(text: str) -> Reading | None:
    """Whole members and the text of a cut string; a cut key, literal or escape goes, and a number at the very end.

    The text must not have lost its trailing blanks: a number before one is whole.
    """
    mended, steps = mend(text)
    if _SURROGATE.search(mended):
        mended = _without_lone_surrogates(mended)
    fault = _fault(mended)
    if not fault.startswith("EOF while parsing"):
        return None
    if not fault.startswith("EOF while parsing a string"):
        mended = _without_last_number(mended)
    value = cast("Json", from_json(mended, allow_inf_nan=False, allow_partial="trailing-strings"))
    return Reading(value, (*steps, "TRUNC")) if _finite(value) else None


def _fault(text: str) -> str:
    try:
        from_json(text, allow_inf_nan=False)
    except ValueError as error:
        return str(error)
    return ""


def _without_last_number(text: str) -> str:
    """1500 may have been 15000."""
    rest = text.rstrip("0123456789+-.eE")
    return rest if text[len(rest) : len(rest) + 1] in tuple("-0123456789") else text


def _without_lone_surrogates(text: str) -> str:
    return _PAIRED.sub(lambda match: match[1] + ("\\ufffd" if match[2] else ""), text)


def _finite(value: Json) -> bool:
    """The parser reads 1e999 as infinity."""
    try:
        json.dumps(value, allow_nan=False)
    except ValueError:
        return False
    return True
