"""Small readers for JSON that strangers write: a member that is missing or of the wrong type is empty, no error."""

from __future__ import annotations

from typing import cast

from hookgate.protocol.values import Json, JsonObject


def object_of(value: object) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, dict) else {}


def member(members: JsonObject, name: str) -> JsonObject:
    return object_of(members.get(name))


def items(members: JsonObject, name: str) -> list[JsonObject]:
    """The objects in an array; whatever else is in it is left out."""
    value = members.get(name)
    return [object_of(item) for item in cast("list[Json]", value) if item] if isinstance(value, list) else []


def text(members: JsonObject, name: str) -> str:
    value = members.get(name)
    return value if isinstance(value, str) else ""


MOST = 10**12
"""No model counts further, and every language that a hook is written in holds the sum of many such numbers."""


def count(members: JsonObject, name: str) -> int:
    """A number of something, never negative and at most MOST."""
    value = members.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(min(max(0, value), MOST))
