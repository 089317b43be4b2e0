"""How much of a text that is still coming can be shown: nothing from where a secret may be unfinished."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Sequence

from hookgate.redaction import commands
from hookgate.redaction.keys import Keys
from hookgate.redaction.shapes import (
    FLAG,
    HEADER,
    KEY_NEEDLES,
    PEM,
    SCHEME,
    SEPARATOR,
    Needles,
    Shape,
    key_pattern,
)

# No secret's shape goes on over the end of a line, but a key block, and a command where a backslash says so. A run of
# printable ASCII may be a part of any.
_BLOCK = re.compile(PEM)
_BEGUN = re.compile(r"-----BEGIN[^\n]*\Z")
_VALUE = (
    r"""\"(?:[^"\\\n]|\\.)*+\\?|'(?:[^'\\\n]|\\.)*+\\?|\\{1,8}["'][^\n]*+|"""
    rf"{SCHEME}\S*+"
)
_WINDOW = 64 * 1024
"""How far back an unfinished shape on the last line is looked for; a longer line is held whole."""
_LONGEST_HALF = 512
_PLAIN = re.compile(r"[!-~]*+")


class SecretHoldBack:
    def __init__(self, forms: Iterable[str], keys: Keys, shapes: Sequence[Shape], needles: Needles) -> None:
        self._forms = tuple(forms)
        # A form without blanks that has begun lies in the last run of characters, which is held anyway.
        self._spread = tuple(form for form in self._forms if not _PLAIN.fullmatch(form))
        self._shapes, self._needles = shapes, needles
        # What a value is given after, and nothing of the value.
        self._name = re.compile(
            rf"[\"'`(\[{{*]*+(?:{keys.words}|keys?|tokens|pass)s?[\"'`)\]}}*]*+(?:{SEPARATOR})?[\"'`]?"
        )
        self._unfinished = (
            _begun(("authorization:", "cookie:"), rf"{HEADER}[^\r\n]*+\Z"),
            _begun(
                (*KEY_NEEDLES, *keys.needles),
                rf"/?{key_pattern(keys.words)}(?:[ \t]*+|{SEPARATOR}(?:{_VALUE}))\Z",
            ),
            _begun(("pass",), rf"{FLAG}[ \t]*+(?:{_VALUE})\Z"),
            _begun(commands.NEEDLES, rf"{commands.LINE}\Z"),
            _begun(("bearer",), r"(?<!\w)bearer[ \t]++\S*+\Z"),
            _begun(("://",), r"://[^\s/?#\"'<>]*+\Z"),
        )

    def held_from(self, text: str) -> int:
        if _may_be_document(text):
            return 0
        masked = self._masked(text)
        held = min(self._on_last_line(masked), _block_from(masked), _form_from(text, self._spread))
        # Shown alone, a document before the rest would be read as one, which the whole is not.
        return 0 if _may_be_document(text[:held]) else held

    def cut_from(self, text: str) -> int:
        """For a text that was cut here for good: from where on it may be half a secret, which must go.

        Unlike in a text that goes on, nothing else is given up: a known value's beginning, and a short run of
        characters that begins like a token. Not inside a value that is whole, of which a half would be left.
        """
        tail = self._masked(text)[-_LONGEST_HALF:]
        known = max((_overlap(tail, form) for form in self._forms), default=0)
        run = _run_from(tail)
        low = tail[run:].lower()
        short = run > 0 or len(tail) == len(text)
        begun = short and self._needles.may_be_in(low) and not self._name.fullmatch(low)
        token = len(tail) - run if begun else 0
        return len(text) - max(known, token)

    def _on_last_line(self, text: str) -> int:
        start = _last_line(text)
        if len(text) - start > _WINDOW:
            return start
        low = text[start:].lower()
        # What may be unfinished has no other needles than the shapes have.
        if not self._needles.may_be_in(low):
            return _run_from(text)
        begun = (it.search(text, start) for needles, it in self._unfinished if any(one in low for one in needles))
        held = min((_run_from(text), *(found.start() for found in begun if found)))
        likely = (shape.pattern for shape in self._shapes if shape.may_be_in(low))
        spans = [it.span() for pattern in likely for it in pattern.finditer(text, start)]
        # Not inside a secret that is whole: neither of its halves would be found.
        for first, last in sorted(spans, key=lambda span: -span[1]):
            held = _with_slash(text, first) if first <= held < last else held
        return held

    def _masked(self, text: str) -> str:
        """Known values as one run each of what is no letter, blanks and line ends in them included."""
        for form in self._forms:
            if form in text:
                text = text.replace(form, "~" * len(form))
        return text


def _begun(needles: tuple[str, ...], pattern: str) -> tuple[tuple[str, ...], re.Pattern[str]]:
    """A secret that may go on where the text ends, and what is in lower case in every text with one."""
    return needles, re.compile(pattern, re.ASCII | re.IGNORECASE)


def _overlap(text: str, form: str) -> int:
    """How many characters at the end of the text begin the form, without being all of it."""
    longest = min(len(text), len(form) - 1)
    return next((size for size in range(longest, 0, -1) if text.endswith(form[:size])), 0)


def _run_from(text: str) -> int:
    at = len(text)
    while at and "!" <= text[at - 1] <= "~":
        at -= 1
    return at


def _with_slash(text: str, at: int) -> int:
    """A slash before a key tells that it is a part of a path."""
    return at - 1 if at and text[at - 1] == "/" else at


def _last_line(text: str) -> int:
    """Where it begins, with the lines before it that end in a backslash, as far as is looked back."""
    start = text.rfind("\n") + 1
    while start and text.endswith(("\\", "\\\r"), max(0, start - 3), start - 1) and len(text) - start <= _WINDOW:
        start = text.rfind("\n", 0, start - 1) + 1
    return start


def _block_from(text: str) -> int:
    """From a key block that has begun, unless more than its last line came after it."""
    if "-----BEGIN" not in text:
        return len(text)
    closed = 0
    for block in _BLOCK.finditer(text):
        closed = block.end()
        if "\n" not in text[closed:]:
            return _line_from(text, block.start())
    begun = _BEGUN.search(text, closed)
    return _line_from(text, begun.start()) if begun else len(text)


def _line_from(text: str, at: int) -> int:
    """What stands before it on its line may be one secret with it."""
    return text.rfind("\n", 0, at) + 1


def _form_from(text: str, forms: Sequence[str]) -> int:
    """The earliest place from which the text to its end is the beginning of a known value."""
    held = len(text)
    for form in forms:
        tail = text[-(len(form) - 1) :]
        at = next((at for at in range(len(tail)) if form.startswith(tail[at:])), len(tail))
        held = min(held, len(text) - len(tail) + at)
    return held


def _may_be_document(text: str) -> bool:
    """Whether it may yet turn out to be one JSON object or array, which is read as a whole."""
    stripped = text.strip()
    if not stripped.startswith(("{", "[")):
        return False
    try:
        _, end = _DECODER.raw_decode(stripped)
    except json.JSONDecodeError as error:
        return error.pos >= len(stripped) or error.msg.startswith(("Unterminated string", "Invalid control"))
    except (ValueError, RecursionError):
        return False
    return end == len(stripped)


_DECODER = json.JSONDecoder()
