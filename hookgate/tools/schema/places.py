"""What a JSON Schema says about one place of a value: references followed, alternatives side by side. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import cast

from hookgate.protocol.values import Json, JsonObject

Drops = Callable[[JsonObject, JsonObject], bool]
"""Whether a null whose schema is the first one goes; the second is the root, for references."""

_MAX_BRANCHES = 64
_ALTERNATIVES = ("anyOf", "oneOf", "allOf")
_SAYS_WHAT = frozenset({"type", "enum", "const"})


def names_at(root: JsonObject, path: Sequence[str | int]) -> tuple[str, ...]:
    """The members that the object at this place may have by name."""
    nodes = branches(root, root)
    for part in path:
        nodes = tuple(inner for node in nodes for inner in _inner(node, root, part))
    return tuple(dict.fromkeys(name for node in nodes for name in _object(node.get("properties"))))


def without_nulls(value: Json, schema: JsonObject, root: JsonObject, drops: Drops) -> Json:
    """The value without the null members, at any depth, of whose schemas `drops` says so; required ones stay.

    What stands under alternatives stays as it is: only validation knows which of them is meant.
    """
    match value:
        case dict():
            return _kept_members(value, schema, root, drops)
        case list():
            items = next((it["items"] for it in branches(schema, root) if "items" in it), None)
            return [without_nulls(item, _object(items), root, drops) for item in value]
        case _:
            return value


def _kept_members(value: dict[str, Json], schema: JsonObject, root: JsonObject, drops: Drops) -> Json:
    objects = [node for node in branches(schema, root) if "properties" in node]
    if len(objects) != 1:
        return value
    properties, required = _object(objects[0]["properties"]), objects[0].get("required")
    needed = required if isinstance(required, list | tuple) else ()
    kept: dict[str, Json] = {}
    for name, member in value.items():
        known = properties.get(name)
        if member is None and isinstance(known, Mapping) and name not in needed and drops(known, root):
            continue
        kept[name] = without_nulls(member, _object(known), root, drops)
    return kept


def never_null(schema: JsonObject, root: JsonObject) -> bool:
    """Models write null for what they leave out; here it can mean nothing else."""
    return not any(
        node.get("type") == "null" or ("const" in node and node["const"] is None) or _lists_null(node)
        for node in branches(schema, root)
    )


def null_if_left_out(schema: JsonObject, _root: JsonObject) -> bool:
    return "default" in schema and schema["default"] is None


def branches(schema: JsonObject, root: JsonObject) -> tuple[JsonObject, ...]:
    """The schema, or what it refers to, or its alternatives, none of which is a reference or has alternatives."""
    found, seen, waiting = list[JsonObject](), set[int](), [schema]
    while waiting and len(seen) < _MAX_BRANCHES:
        node = waiting.pop(0)
        if id(node) not in seen:
            seen.add(id(node))
            further = [*_target(node, root), *_alternatives(node)]
            waiting.extend(further)
            found.extend(() if further else (node,))
    return tuple(found)


def _target(node: JsonObject, root: JsonObject) -> Iterator[JsonObject]:
    ref = node.get("$ref")
    if isinstance(ref, str):
        yield _object(_object(root.get("$defs")).get(ref.removeprefix("#/$defs/")))


def _alternatives(node: JsonObject) -> Iterator[JsonObject]:
    for keyword in _ALTERNATIVES:
        listed = node.get(keyword)
        yield from map(_object, cast("Iterable[Json]", listed) if isinstance(listed, list) else ())


def _inner(node: JsonObject, root: JsonObject, part: str | int) -> tuple[JsonObject, ...]:
    if isinstance(part, int):
        return branches(_object(node.get("items")), root)
    return branches(_object(_object(node.get("properties")).get(part)), root)


def _lists_null(node: JsonObject) -> bool:
    """Whether null is among the values, or nothing is said about them."""
    listed = node.get("enum")
    return None in listed if isinstance(listed, list) else not _SAYS_WHAT & node.keys()


def _object(value: Json) -> JsonObject:
    return cast("JsonObject", value) if isinstance(value, Mapping) else {}
