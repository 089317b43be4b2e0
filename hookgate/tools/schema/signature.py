"""A tool's arguments in one line, for a model that got them wrong. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hookgate.protocol.codec import encode
from hookgate.protocol.values import Json, JsonObject

MAX_CHARS = 600
_DEPTH = 3


def signature(name: str, schema: JsonObject) -> str:
    """`edit(path: string, edits: [{old: string, new: string}], mode: "a" | "b" = "a", limit?: integer)`."""
    line = f"{name}({_members(schema, _DEPTH)})"
    return line if len(line) <= MAX_CHARS else f"{line[:MAX_CHARS]}..."


def _members(schema: JsonObject, depth: int) -> str:
    properties, required = _object(schema.get("properties")), schema.get("required")
    names = required if isinstance(required, list | tuple) else ()
    return ", ".join(_member(name, _object(it), depth, name in names) for name, it in properties.items())


def _member(name: str, schema: JsonObject, depth: int, required: bool) -> str:
    if "default" in schema:
        return f"{name}: {_type(schema, depth)} = {encode(schema['default']).decode()}"
    return f"{name}{'' if required else '?'}: {_type(schema, depth)}"


def _type(schema: JsonObject, depth: int) -> str:
    match schema:
        case {"enum": list() as values}:
            return " | ".join(encode(value).decode() for value in values)
        case {"const": value}:
            return encode(value).decode()
        case {"anyOf": list() as branches} | {"oneOf": list() as branches}:
            return " | ".join(_type(_object(branch), depth) for branch in branches)
        case {"type": "array"}:
            items = _object(schema.get("items"))
            return f"[{_type(items, depth - 1)}]" if items and depth else "array"
        case {"properties": _} if depth:
            return f"{{{_members(schema, depth - 1)}}}"
        case {"type": str(kind)}:
            return kind
        case _:
            return "any"


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
