"""How much of a text that is still coming may be shown: nothing from where a call may begin. Judges no call."""

from __future__ import annotations

import re

from hookgate.tools.extract.marks import OPENERS
from hookgate.tools.extract.values import Mode

_KEY = "tool_calls"
_KEY_BEGUN = "|".join([_KEY, *(_KEY[:length] + r"\Z" for length in range(len(_KEY)))])
# In prose a protocol object is known by its first key alone; a reply that begins with a bracket is held whole.
_PROTOCOL = rf"""\{{\s*+(?:\Z|["']?(?:{_KEY_BEGUN}))"""
_BEGUN = re.compile("|".join([*map(re.escape, OPENERS), _PROTOCOL]), re.IGNORECASE)
_WHOLE = re.compile(r"(?:\s++|<think>.*?</think>)*+(?=[{\[])", re.DOTALL | re.IGNORECASE)
_FENCED = re.compile(r"`{3,}+[ \t]*+(?:json|tool_call)?+[ \t]*+\n\s*+(?=[{\[])", re.IGNORECASE)
# A fence may yet turn out to hold nothing but a call.
_FENCE_BEGUN = re.compile(r"(?:`{3,}+[ \t]*+\w*+[ \t]*+(?:\n\s*+)?+|`{1,2}+)\Z")
_LONGEST = max(map(len, OPENERS))


def held_from(text: str, mode: Mode = "tags") -> int:
    """The first character to hold back, `len(text)` if none: a call may begin there, or its opener has begun.

    Errs towards holding: an opener in an example or in reasoning counts too.
    """
    thought = text.lower().rfind("</think>") + 1
    begun = (_BEGUN.search(text), _WHOLE.match(text), _WHOLE.match(text, thought + 7) if thought else None)
    places = [match.end() if match.re is _WHOLE else match.start() for match in begun if match]
    fenced = _FENCED.search(text) if mode == "all" else None
    held = min([*places, fenced.start() if fenced else len(text), _half_opener(text)])
    fence = _FENCE_BEGUN.search(text[:held])
    return fence.start() if fence else held


def _half_opener(text: str) -> int:
    """Where the text ends in the beginning of an opener."""
    low = text[-_LONGEST:].lower()
    openers = tuple(opener.lower() for opener in OPENERS)
    at = next((at for at in range(len(low)) if any(it.startswith(low[at:]) for it in openers)), len(low))
    return len(text) - len(low) + at
