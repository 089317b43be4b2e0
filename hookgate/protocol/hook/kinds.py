"""Words for a person about JSON that is not what it should be."""

from __future__ import annotations

from collections.abc import Set


def near_miss(name: str, known: Set[str]) -> str:
    """The name as it was written, with the spelling that was probably meant."""
    lower = name.lower()
    return f"{name!r} (did you mean {lower!r}?)" if lower in known and lower != name else repr(name[:80])


def kind_of(value: object) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
