"""Generated JSON Schemas as small models and narrow APIs take them: no noise, few references. Pure.

Only for schemas that are generated here: a stranger's goes to the model as it came. The walk goes by keyword, so
that an argument may be called `title` or `default`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeAlias, cast

from hookgate.protocol.values import Json

Schema: TypeAlias = "dict[str, Json]"

_DEFS = "#/$defs/"
MAX_INLINED = 4096
"""Schemas that inlining may lead to; where definitions multiply beyond that, their references stay."""

_ONE = frozenset(
    {
        *("items", "additionalItems", "additionalProperties", "contains", "propertyNames", "unevaluatedItems"),
        *("unevaluatedProperties", "not", "if", "then", "else", "contentSchema"),
    }
)
_NAMED = frozenset({"properties", "patternProperties", "$defs", "definitions", "dependentSchemas"})
_SEVERAL = frozenset({"allOf", "anyOf", "oneOf", "prefixItems", "items"})


def cleaned(schema: Mapping[str, Json]) -> Schema:
    """The same schema without generated titles, with its definitions put where they are used, optional values as
    their type alone; order, limits and defaults stay. A `$ref` that leads to itself stays, with its definition."""
    root = cast("Schema", _walked(dict(schema), _untitled))
    definitions = cast("dict[str, Json]", root.pop("$defs", {}))
    kept = _kept(root, definitions)

    def inline(node: Schema) -> Schema:
        return _inlined(node, definitions, kept, inline)

    root = cast("Schema", _walked(root, inline))
    if kept:
        root["$defs"] = {name: _walked(it, inline) for name, it in definitions.items() if name in kept}
    return cast("Schema", _walked(root, _single))


def closed(schema: Mapping[str, Json]) -> Schema:
    """The same schema whose objects with named members take no others; one that says otherwise keeps its word."""
    return cast("Schema", _walked(dict(schema), _closed))


def open_objects(schema: Json) -> bool:
    """Whether some object with named members says that it takes others as well."""
    return any(
        "properties" in node and node.get("additionalProperties", False) is not False for node in nodes(schema)
    )


def nodes(schema: Json) -> tuple[Schema, ...]:
    """Every schema in it; what only looks like one (a default, an example) is none."""
    found: list[Schema] = []

    def look(node: Schema) -> Schema:
        found.append(node)
        return node

    _walked(schema, look)
    return tuple(found)


def _walked(node: Json, change: Callable[[Schema], Schema]) -> Json:
    """`node` with `change` applied to every schema in it, inner ones first; values that are no schemas stay."""
    if not isinstance(node, dict):
        return node
    return change({keyword: _walked_value(keyword, value, change) for keyword, value in node.items()})


def _walked_value(keyword: str, value: Json, change: Callable[[Schema], Schema]) -> Json:
    match value:
        case dict() if keyword in _ONE:
            return _walked(value, change)
        case dict() if keyword in _NAMED:
            return {name: _walked(inner, change) for name, inner in value.items()}
        case list() if keyword in _SEVERAL:
            return [_walked(inner, change) for inner in value]
        case _:
            return value


def _untitled(node: Schema) -> Schema:
    """`discriminator` is no JSON Schema: it only points at definitions."""
    return {keyword: value for keyword, value in node.items() if keyword not in ("title", "discriminator")}


def _single(node: Schema) -> Schema:
    branches = node.get("anyOf")
    if not isinstance(branches, list) or {"type": "null"} not in branches:
        return node
    others = [branch for branch in branches if branch != {"type": "null"}]
    rest = {keyword: it for keyword, it in node.items() if (keyword, it) != ("default", None)}
    if len(others) != 1 or not isinstance(others[0], dict):
        return {**rest, "anyOf": others} if others else node
    # The branch stands where anyOf stood, but what is said beside it counts more.
    del rest["anyOf"]
    return {**others[0], **rest}


def _closed(node: Schema) -> Schema:
    return {**node, "additionalProperties": False} if "properties" in node and _says_nothing(node) else node


def _says_nothing(node: Schema) -> bool:
    return "additionalProperties" not in node and "patternProperties" not in node


# --- references -----------------------------------------------------------------------------------------------


def _inlined(
    node: Schema, definitions: Mapping[str, Json], kept: frozenset[str], inline: Callable[[Schema], Schema]
) -> Schema:
    name = _referred(node)
    if name is None or name in kept or name not in definitions:
        return node
    target = _walked(definitions[name], inline)
    if not isinstance(target, dict):
        return node
    beside = {keyword: value for keyword, value in node.items() if keyword != "$ref"}
    return {**target, **beside}


def _kept(root: Schema, definitions: Mapping[str, Json]) -> frozenset[str]:
    """The definitions that are used and stay: those that lead to themselves, or all where inlining would explode."""
    uses = {name: _references(it) for name, it in definitions.items()}
    recursive = frozenset(name for name in uses if name in _reached(uses[name], uses))
    if _grown(_references(root), uses, recursive) > MAX_INLINED:
        return frozenset(_reached(_references(root), uses))
    return recursive


def _reached(start: tuple[str, ...], uses: Mapping[str, tuple[str, ...]]) -> set[str]:
    reached, waiting = set[str](), list(start)
    while waiting:
        name = waiting.pop()
        if name not in reached and name in uses:
            reached.add(name)
            waiting.extend(uses[name])
    return reached


def _grown(start: tuple[str, ...], uses: Mapping[str, tuple[str, ...]], recursive: frozenset[str]) -> int:
    """How many definitions stand in the schema once references are inlined."""
    sizes: dict[str, int] = {}

    def size(name: str) -> int:
        if name not in sizes:
            sizes[name] = 1 if name in recursive else 1 + sum(size(inner) for inner in uses.get(name, ()))
        return sizes[name]

    return sum(map(size, start)) + sum(size(inner) for name in recursive for inner in uses[name])


def _references(schema: Json) -> tuple[str, ...]:
    return tuple(name for node in nodes(schema) if (name := _referred(node)) is not None)


def _referred(node: Schema) -> str | None:
    ref = node.get("$ref")
    return ref.removeprefix(_DEFS) if isinstance(ref, str) and ref.startswith(_DEFS) else None
