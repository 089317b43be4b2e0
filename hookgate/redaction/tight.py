"""What may be hidden from whoever decides about a call: secrets that are known, and tokens that are nothing else.

No sign that means something to a shell, no blank and no line end is ever replaced: what a call does stays to be seen.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cached_property

from hookgate.redaction.found import Hide, Json
from hookgate.redaction.shapes import Shape, tokens

MAX_DEPTH = 200
"""Of nested JSON; what lies deeper is shown as it is."""

_INERT = re.compile(r"[A-Za-z0-9_.,:=@%+/-]+")


class Tight:
    """`forms`: known secrets in all their spellings."""

    def __init__(self, forms: tuple[str, ...], hide: Hide) -> None:
        self._forms, self._hide = forms, hide

    def text(self, text: str) -> str:
        for form in self._forms:
            if form in text:
                text = text.replace(form, _INERT.sub(lambda run: self._hide(run.group()), form))
        low = text.lower()
        for shape in self._tokens:
            text = shape.apply(text, self._hide) if shape.may_be_in(low) else text
        return text

    def value(self, value: Json) -> Json:
        return self._value(value, 0)

    @cached_property
    def _tokens(self) -> tuple[Shape, ...]:
        return tokens()

    def _value(self, value: Json, depth: int) -> Json:
        match value:
            case str():
                return self.text(value)
            case Mapping() if depth < MAX_DEPTH:
                shown = {self.text(name): self._value(item, depth + 1) for name, item in value.items()}
                if len(shown) == len(value):
                    return shown
                # Two names became one: neither may hide the other.
                return {name: self._value(item, depth + 1) for name, item in value.items()}
            case list() | tuple() if depth < MAX_DEPTH:
                return [self._value(item, depth + 1) for item in value]
            case _:
                return value
