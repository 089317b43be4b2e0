"""How much of a text that is still coming may be shown: nothing from where a call may begin. Judges no call.

Every piece is looked at once; of what came before, no more is kept than the beginning of a call, and that shortened.
"""

from __future__ import annotations

import re

from hookgate.tools.extract.marks import OPENERS, THOUGHT
from hookgate.tools.extract.quoting import BREAK, START, Lines
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
_OPEN = re.compile(r"\{\s++")
_BLANKS = re.compile(r"\s*+")
_MOST_BLANKS = 3
"""At the start of a line; more of them indent a block."""
_THINK, _THOUGHT = "<think>", "</think>"


def held_from(text: str, mode: Mode = "tags") -> int:
    """The first character to hold back, `len(text)` if none: a call may begin there, or its opener has begun.

    Errs towards holding: whatever follows a call, and where any place will do, an opener in an example or in
    reasoning counts too.
    """
    return CallHoldBack(mode)(text)


class CallHoldBack:
    """`held_from` of a text that comes in pieces: given the next one, the answer for all that came so far."""

    def __init__(self, mode: Mode = "tags") -> None:
        self._value = _Value()
        self._call = _Anywhere() if mode == "all" else _AtLineStart()

    def __call__(self, piece: str) -> int:
        if not self._settled:
            self._value.feed(piece)
            self._call.feed(piece)
        return self._call.place if self._value.place is None else min(self._call.place, self._value.place)

    @property
    def _settled(self) -> bool:
        return self._value.lasting or (self._call.sure and self._value.place is None)


class _Anywhere:
    """Where a call has begun or may have, whatever stands before it; all there is while none has."""

    def __init__(self) -> None:
        self.place, self.sure = 0, False
        self._end = 0
        # The text from there, shortened.
        self._begun = ""

    def feed(self, piece: str) -> None:
        self._end += len(piece)
        if self.sure:
            return
        text = self._begun + piece
        at, self.sure = _call_from(text)
        if at or not self._begun:
            self.place = self._end - len(text) + at
        self._begun = _RUNS.sub(r"\1\2\3\4\5", text[at:])


class _AtLineStart:
    """The same where only the start of a line will do, outside quotations."""

    def __init__(self) -> None:
        self.place, self.sure = 0, False
        self._end = 0
        self._lines = Lines()
        # Of the line that is not whole: its pieces; what it ends with; its blanks, None once something else came.
        self._line: list[str] = []
        self._tail = ""
        self._blanks: str | None = ""
        # What may be the beginning of a call, shortened.
        self._begun = ""

    def feed(self, piece: str) -> None:
        text, at, begin = self._tail + piece, len(self._tail), 0
        for mark in BREAK.finditer(text):
            self._part(text[at : mark.end()])
            self._lines.take("".join(self._line))
            self._line, self._blanks = [], ""
            at = begin = mark.end()
        self._part(text[at:])
        self._tail = text[begin:][1 - len(_THOUGHT) :]
        if not self._begun:
            self.place = self._end

    def _part(self, part: str) -> None:
        if self.sure or not part:
            self._end += len(part)
            return
        self._line.append(part)
        if self._begun:
            self._go_on(self._begun + part)
        if self._blanks is not None:
            self._start(self._blanks + part)
        self._end += len(part)

    def _start(self, line: str) -> None:
        start = START.match(line)
        held = len(self._blanks or "")
        self._blanks = None if start or line.strip() or len(line) > _MOST_BLANKS else line
        if start and not self._begun and not self._lines.quoted:
            self.place = self._end - held + start.end()
            self._go_on(line[start.end() :])

    def _go_on(self, text: str) -> None:
        begun = _BEGUN.match(text)
        self.sure = bool(begun and begun["sure"])
        may_be = begun is not None or any(opener.startswith(text.casefold()) for opener in _OPENERS)
        self._begun = _OPEN.sub("{", text) if may_be else ""


def _call_from(text: str) -> tuple[int, bool]:
    """Where a call begins or may begin, and whether it surely does."""
    begun, half = _BEGUN.search(text), _half_opener(text)
    at = min(begun.start(), half) if begun else half
    fenced = _FENCED.search(text, 0, at + 1)
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
