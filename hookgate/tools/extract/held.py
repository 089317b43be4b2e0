"""How much of a text that is still coming may be shown: nothing from where a call may begin. Judges no call.

Every piece is looked at once; of what came before, no more is kept than the beginning of a call, and that shortened.
"""

from __future__ import annotations

import re

from hookgate.tools.extract.marks import OPENERS, THOUGHT
from hookgate.tools.extract.values import Mode

_KEY = "tool_calls"
_KEY_BEGUN = "|".join(_KEY[:length] + r"\Z" for length in range(len(_KEY)))
# In prose a protocol object is known by its first key alone; a reply that begins with a bracket is held whole.
_SURE = rf"""{"|".join(map(re.escape, OPENERS))}|\{{\s*+["']?{_KEY}"""
_BEGUN = re.compile(rf"""(?=[<\[{{])(?:(?P<sure>{_SURE})|\{{\s*+(?:\Z|["']?(?:{_KEY_BEGUN})))""", re.IGNORECASE)
_FENCED = re.compile(r"(?<!`)`{3,}+[ \t]*+(?:json|tool_call)?+[ \t]*+\n\s*+(?=[{\[])", re.IGNORECASE)
# A fence may yet turn out to hold nothing but a call.
_FENCE_BEGUN = re.compile(r"(?<!`)(?:`{3,}+[ \t]*+\w*+[ \t]*+(?:\n\s*+)?+|`{1,2}+)\Z")
_OPENERS = tuple(opener.lower() for opener in OPENERS)
_LONGEST = max(map(len, OPENERS))
# Each run says no more than its beginning: the longest word that counts has nine letters.
_RUNS = re.compile(r"(`{3})`++|([ \t])[ \t]++|(\n)\s++|(\{)\s++|(?<=[` \t])(\w{10})\w++")
_BLANKS = re.compile(r"\s*+")
_THINK, _THOUGHT = "<think>", "</think>"


def held_from(text: str, mode: Mode = "tags") -> int:
    """The first character to hold back, `len(text)` if none: a call may begin there, or its opener has begun.

    Errs towards holding: an opener in an example or in reasoning counts too.
    """
    return Held(mode)(text)


class Held:
    """`held_from` of a text that comes in pieces: given the next one, the answer for all that came so far."""

    def __init__(self, mode: Mode = "tags") -> None:
        self._mode: Mode = mode
        self._end = 0
        self._value = _Value()
        # Where a call has begun or may have; the text from there, shortened; whether there is no doubt.
        self._place, self._begun, self._sure = 0, "", False

    def __call__(self, piece: str) -> int:
        if not self._settled:
            self._end += len(piece)
            self._value.feed(piece)
            if not self._sure:
                self._look(piece)
        return self._place if self._value.place is None else min(self._place, self._value.place)

    @property
    def _settled(self) -> bool:
        return self._value.lasting or (self._sure and self._value.place is None)

    def _look(self, piece: str) -> None:
        text = self._begun + piece
        at, self._sure = _call_from(text, self._mode)
        if at or not self._begun:
            self._place = self._end - len(text) + at
        self._begun = _RUNS.sub(r"\1\2\3\4\5", text[at:])


def _call_from(text: str, mode: Mode) -> tuple[int, bool]:
    """Where a call begins or may begin, and whether it surely does."""
    begun, half = _BEGUN.search(text), _half_opener(text)
    at = min(begun.start(), half) if begun else half
    fenced = _FENCED.search(text, 0, at + 1) if mode == "all" else None
    if fenced:
        return fenced.start(), True
    fence = _FENCE_BEGUN.search(text[:at])
    return fence.start() if fence else at, bool(begun and begun["sure"])


def _half_opener(text: str) -> int:
    """Where the text ends in the beginning of an opener."""
    at = max(text.rfind("<"), text.rfind("["))
    low = text[at : at + _LONGEST].casefold()
    return at if at >= 0 and any(opener.startswith(low) for opener in _OPENERS) else len(text)


class _Value:
    """Whether what follows may be one JSON value: nothing but blanks and reasoning came before it."""

    def __init__(self) -> None:
        self.place: int | None = None
        """Of its bracket."""
        self._end = 0
        self._tag = ""
        # Nothing but blanks since the beginning or the last reasoning; inside reasoning that was opened; never else.
        self._fresh, self._thinking, self._pure = True, False, True

    @property
    def lasting(self) -> bool:
        """Whether it stays one, whatever comes."""
        return self.place is not None and self._pure

    def feed(self, piece: str) -> None:
        text, at = self._tag + piece, 0
        self._end += len(piece)
        while True:
            at = self._begin(text, at) if self._fresh else at
            if self._fresh or self.lasting:
                break
            thought = THOUGHT.search(text, at)
            if thought is None:
                break
            # Some chat templates write the opener into the prompt: all that came before was reasoning.
            self._pure = self._pure and self._thinking
            self.place, self._fresh, at = None, True, thought.end()
        self._tag = text[at:] if self._fresh else _half(text[at:])

    def _begin(self, text: str, at: int) -> int:
        """Past the blanks, where something else begins or the text ends."""
        blanks = _BLANKS.match(text, at)
        at = blanks.end() if blanks else at
        low = text[at : at + len(_THINK)].casefold()
        if low == _THINK or not _THINK.startswith(low):
            self._fresh, self._thinking = False, low == _THINK
        if low[:1] in ("{", "["):
            self.place = self._end - len(text) + at
        return at


def _half(text: str) -> str:
    """The beginning of a closing tag that the text ends with."""
    at = text.rfind("<")
    half = text[at:] if at >= 0 else ""
    return half if len(half) < len(_THOUGHT) and _THOUGHT.startswith(half.casefold()) else ""
