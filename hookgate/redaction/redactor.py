"""The one redactor: what it is told is secret, and what looks it, is replaced in texts and in JSON values.

Pure; knows no exit that uses it. Redacting twice changes nothing more, and takes time linear in the text.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import cast

from hookgate.redaction.found import Json
from hookgate.redaction.keys import Keys, names_variable
from hookgate.redaction.marks import Marks, holds_marker
from hookgate.redaction.shapes import Needles, Shape, shapes
from hookgate.redaction.stream import SecretHoldBack
from hookgate.redaction.tight import Tight
from hookgate.redaction.values import known_forms

MIN_CHARS = 8
"""No known value, and no shape, is shorter."""
MAX_DEPTH = 200
"""Of nested JSON; what lies deeper is replaced as a whole."""


class Redactor:
    """`secrets`: values to find literally; `keys`: further words that make a key telling; `salt`: up to 64 bytes."""

    def __init__(self, secrets: Iterable[str], keys: Iterable[str] = (), salt: bytes = b"") -> None:
        self._forms = known_forms(secrets)
        self._keys = Keys(keys)
        self._hide = Marks(salt).hidden
        self._tight = Tight(self._forms, self._hide)

    def text(self, text: str) -> str:
        """The text without secrets. One that is a JSON object or array as a whole is still one, of the same layout
        but for its blanks."""
        return self._text(text, 0)

    def value(self, value: Json) -> Json:
        """The same value without secrets: numbers, booleans and null stay; nothing found, the very same object."""
        return self._value(value, 0)

    def held_from(self, text: str) -> int:
        """For a text that is still coming: from where on it must be held back, `len(text)` if nothing must.

        Whatever comes, the redacted whole begins with what `text` makes of the part before.
        """
        return self._held.held_from(text)

    def cut_from(self, text: str) -> int:
        """For a text that ends where it was cut: from where on it may be half a secret, `len(text)` if it is not."""
        return self._held.cut_from(text)

    def marker(self, value: Json) -> bool:
        """Whether a secret was replaced somewhere in it."""
        return holds_marker(value)

    @property
    def for_questions(self) -> Tight:
        """For what a person decides about."""
        return self._tight

    # --- what is looked for: compiled by the first text, for a start has none ---

    @cached_property
    def _shapes(self) -> tuple[Shape, ...]:
        return shapes(self._keys)

    @cached_property
    def _needles(self) -> Needles:
        return Needles(self._shapes)

    @cached_property
    def _held(self) -> SecretHoldBack:
        return SecretHoldBack(self._forms, self._keys, self._shapes, self._needles)

    # --- texts ---

    def _text(self, text: str, depth: int) -> str:
        if len(text) < MIN_CHARS:
            return text
        redacted = self._redacted(text, depth)
        # The very same where nothing was found: what holds it then stays as it is too.
        return text if redacted == text else redacted

    def _redacted(self, text: str, depth: int) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, self._hide(form))
        low = text.lower()
        # In JSON an escape may hide any letter.
        if "\\u" not in low and not self._needles.may_be_in(low):
            return text
        document = _document(text) if depth < MAX_DEPTH else None
        if document is not None:
            redacted = self._value(document, depth + 1)
            return text if redacted is document else _dumped(redacted, text)
        for shape in self._shapes:
            text = shape.apply(text, self._hide) if shape.may_be_in(low) else text
        return text

    # --- JSON ---

    def _value(self, value: Json, depth: int) -> Json:
        match value:
            case str():
                return self._text(value, depth)
            case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
                return self._hide("too deep") if value else value
            case Mapping():
                return self._mapping(value, depth)
            case list() | tuple():
                return _same_or(
                    [it if not it or type(it) in _NO_TEXT else self._value(it, depth + 1) for it in value], value
                )
            case _:
                return value

    def _mapping(self, value: Mapping[str, Json], depth: int) -> Json:
        changed: dict[str, Json] = {}
        same = True
        for key, item in value.items():
            name, new = self._text(key, depth), self._member(key, item, depth)
            same = same and new is item and name is key
            changed[name] = new
        return value if same else changed

    def _member(self, key: str, item: Json, depth: int) -> Json:
        if isinstance(item, (str, Mapping, list, tuple)) and self._keys.telling(key):
            named = isinstance(item, str) and names_variable(key, item)
            return self._value(item, depth + 1) if named else self._covered(item, depth + 1)
        return self._value(item, depth + 1)

    def _covered(self, value: Json, depth: int) -> Json:
        """Under a telling key every string is a secret, however deep."""
        match value:
            case str():
                return self._hide(value)
            case Mapping() | list() | tuple() if depth >= MAX_DEPTH:
                return self._hide("too deep") if value else value
            case Mapping():
                new = {key: self._covered(item, depth + 1) for key, item in value.items()}
                return value if all(new[key] is value[key] for key in new) else new
            case list() | tuple():
                return _same_or([self._covered(item, depth + 1) for item in value], value)
            case _:
                return value


_NO_TEXT = frozenset({int, float, bool, type(None)})


def _same_or(new: list[Json], old: list[Json] | tuple[Json, ...]) -> Json:
    if all(a is b for a, b in zip(new, old, strict=True)):
        return old
    return new if isinstance(old, list) else tuple(new)


def _document(text: str) -> Json:
    """The JSON object or array that the text is as a whole; None where it is none, or holds what no JSON has."""
    stripped = text.strip()
    if stripped[:1] + stripped[-1:] not in ("{}", "[]"):
        return None
    try:
        return cast("Json", json.loads(stripped, parse_constant=_refused, parse_float=_finite))
    except (ValueError, RecursionError):
        return None


def _refused(name: str) -> float:
    raise ValueError(name)


def _finite(digits: str) -> float:
    number = float(digits)
    return number if number - number == 0 else _refused(digits)


def _dumped(value: Json, like: str) -> str:
    """In the layout of the text it came from: over lines where that was, without blanks where that had none."""
    inner = like.strip()
    before, _, after = like.partition(inner)
    indent = 2 if "\n" in inner else None
    compact = indent is None and '": ' not in inner and ", " not in inner
    separators = (",", ":") if compact else None
    dumped = json.dumps(value, ensure_ascii=inner.isascii(), indent=indent, separators=separators)
    return f"{before}{dumped}{after}"
