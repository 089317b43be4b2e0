"""JSON Schemas of tools: refused at registration where they cannot work, compiled once, applied to arguments.

Knows neither the tool nor the call; nothing is ever fetched for a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from hookgate.protocol.codec import canonical, decode
from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.errors import BadSpec
from hookgate.tools.failures import meant
from hookgate.tools.schema_patterns import Meter, pattern_keyword, pattern_options

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_BYTES = 32 * 1024
MAX_DEPTH = 64
_MAX_PROBLEMS = 5
# References that lead to references: no sensible schema has more, and the search for loops recurses.
_MAX_CHAIN = 200
_PROBLEM_CHARS = 300
# Schemas that judge one value, references followed: some hundred in the richest of real ones.
MAX_EXPANSION = 10_000

MAX_STEPS = 500_000
"""Schemas times values of one judgement: some 20 ms."""
_MANY_STEPS = 5_000
# Keywords whose subschemas judge what is in the value.
_INSIDE = ("items", "additionalProperties", "contains", "propertyNames", "unevaluatedItems", "unevaluatedProperties")

# Keywords whose subschemas judge the very value that the schema itself judges.
_SAME_PLACE = ("not", "if", "then", "else")
_SAME_PLACE_LISTS = ("allOf", "anyOf", "oneOf")


def check_schema(schema: JsonObject) -> None:
    """Raises BadSpec: too large or deep, does not compile, or refers to itself without consuming anything."""
    if too_deep(schema, MAX_DEPTH):
        raise BadSpec(f"the schema nests deeper than {MAX_DEPTH}")
    text = canonical(schema)
    if len(text) > MAX_SCHEMA_BYTES:
        raise BadSpec(f"the schema has {len(text)} bytes, more than {MAX_SCHEMA_BYTES}")
    _compiled(text)
    if _loops(text):
        raise BadSpec("the schema refers to itself in a loop")
    if _multiplies(text):
        raise BadSpec(f"the schema judges one value by more than {MAX_EXPANSION} others")


def problems(schema: JsonObject, arguments: JsonObject) -> tuple[str, ...]:
    """What is wrong with the arguments, in at most five lines; nothing if they fit. Takes some 20 ms at most."""
    text = canonical(schema)
    checked = _compiled(text)
    values, depth = _extent(arguments)
    steps = values * _steps(text, min(depth, MAX_DEPTH))
    if steps > MAX_STEPS:
        return (f"{values} values are too many to be held against this schema",)
    if checked.fits(arguments):
        return ()
    # All errors are made before the first is handed over, each with the value that it is about.
    errors = checked.errors(arguments) if steps <= _MANY_STEPS else checked.first(arguments)
    return tuple(dict.fromkeys(_problem(schema, error) for error in errors))


def too_deep(value: Json, limit: int) -> bool:
    """Whether objects and arrays nest deeper than `limit`; never recurses itself."""
    level: list[Json] = [value]
    for _ in range(limit + 1):
        level = [child for item in level for child in _children(item)]
        if not level:
            return False
    return True


def _children(value: Json) -> Iterator[Json]:
    match value:
        case Mapping():
            yield from value.values()
        case list() | tuple():
            yield from value
        case _:
            pass


@dataclass(frozen=True)
class _Checked:
    """A compiled schema; every judgement has the whole budget for patterns."""

    validator: jsonschema_rs.Draft202012Validator
    meter: Meter

    def fits(self, value: Json) -> bool:
        self.meter.fill()
        return self.validator.is_valid(value)

    def errors(self, value: Json) -> list[jsonschema_rs.ValidationError]:
        self.meter.fill()
        return [error for error, _ in zip(self.validator.iter_errors(value), range(_MAX_PROBLEMS), strict=False)]

    def first(self, value: Json) -> list[jsonschema_rs.ValidationError]:
        import jsonschema_rs

        self.meter.fill()
        try:
            self.validator.validate(value)
        except jsonschema_rs.ValidationError as error:
            return [error]
        return []


@lru_cache(maxsize=512)
def _compiled(schema: bytes) -> _Checked:
    import jsonschema_rs

    meter, members = Meter(), decode(schema)
    keywords, options = {"pattern": pattern_keyword(meter)}, pattern_options()
    try:
        made = jsonschema_rs.Draft202012Validator(members, offline=True, keywords=keywords, pattern_options=options)
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise BadSpec(f"the schema does not compile: {str(error).splitlines()[0][:_PROBLEM_CHARS]}") from None
    meter.check()
    return _Checked(made, meter)


def _problem(schema: JsonObject, error: jsonschema_rs.ValidationError) -> str:
    import jsonschema_rs

    path = ".".join(str(part) for part in error.instance_path)
    match error.kind:
        case jsonschema_rs.ValidationErrorKind.Required(property=name):
            return f"{path}.{name} is required" if path else f"{name} is required"
        case jsonschema_rs.ValidationErrorKind.AdditionalProperties(unexpected=names):
            message = error.message[:_PROBLEM_CHARS] + meant(names[0], _neighbours(schema, error.schema_path))
        case _:
            message = error.message[:_PROBLEM_CHARS]
    return f"{path[:_PROBLEM_CHARS]}: {message}" if path else message


def _neighbours(schema: JsonObject, path: Sequence[str | int]) -> tuple[str, ...]:
    """The names that the object knows whose `additionalProperties` an error is about; its path ends with that."""
    node: Any = schema
    try:
        for part in path[:-1]:
            node = node[part]
        return tuple(node["properties"])
    except (LookupError, TypeError):
        return ()  # it was found through a reference, or the object names nothing


# --- loops --------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def _loops(schema: bytes) -> bool:
    """Whether it leads back to itself at the same value: `{"$ref": "#"}` says nothing and may never end."""
    root, done = cast("Mapping[str, Any]", decode(schema)), set[int]()
    return any(_leads_to_itself(start, root, done, ()) for start in _schemas(root))


@lru_cache(maxsize=512)
def _multiplies(schema: bytes) -> bool:
    """Whether judging one value would take more steps than any real schema does. Only of one without loops."""
    root, known = cast("Mapping[str, Any]", decode(schema)), dict[int, int]()
    return any(_expansion(start, root, known) > MAX_EXPANSION for start in tuple(_schemas(root)))


def _expansion(node: object, root: Mapping[str, Any], known: dict[int, int]) -> int:
    """How many schemas judge one value at this place: references that fork at every step multiply."""
    if not isinstance(node, Mapping):
        return 0
    members = cast("Mapping[str, Any]", node)
    if id(members) not in known:
        known[id(members)] = MAX_EXPANSION  # should a loop come past the search for loops
        known[id(members)] = min(
            MAX_EXPANSION + 1, 1 + sum(_expansion(child, root, known) for child in _same_place(members, root))
        )
    return known[id(members)]


@lru_cache(maxsize=2048)
def _steps(schema: bytes, depth: int) -> int:
    """How many schemas judge what lies on one way down into a value that nests so deep."""
    try:
        return _ways(root := decode(schema), depth, _Ways(root))
    except RecursionError:
        return MAX_STEPS + 1


@dataclass(frozen=True)
class _Ways:
    root: Any
    known: dict[tuple[int, int], int] = field(default_factory=dict[tuple[int, int], int])


def _ways(node: object, depth: int, seen: _Ways) -> int:
    if not isinstance(node, Mapping):
        return 0
    members = cast("Mapping[str, Any]", node)
    place = (id(members), depth)
    if place not in seen.known:
        seen.known[place] = MAX_STEPS  # should a loop come past the search for loops
        here = sum(_ways(child, depth, seen) for child in _same_place(members, seen.root))
        below = sum(_ways(child, depth - 1, seen) for child in _inside(members)) if depth else 0
        named = max((_ways(child, depth - 1, seen) for child in _named(members)), default=0) if depth else 0
        seen.known[place] = min(
            MAX_STEPS + 1, (20 if "pattern" in members or "uniqueItems" in members else 1) + here + below + named
        )
    return seen.known[place]


def _inside(members: Mapping[str, Any]) -> Iterator[object]:
    """Subschemas that may all judge the same part of the value."""
    for name in _INSIDE:
        yield members.get(name)
    patterned = members.get("patternProperties")
    yield from cast("dict[str, object]", patterned).values() if isinstance(patterned, dict) else ()


def _named(members: Mapping[str, Any]) -> Iterator[object]:
    """Subschemas of which each judges a part of its own."""
    properties, first = members.get("properties"), members.get("prefixItems")
    yield from cast("dict[str, object]", properties).values() if isinstance(properties, dict) else ()
    yield from cast("list[object]", first) if isinstance(first, list) else ()


def _extent(value: Json) -> tuple[int, int]:
    """How many values there are in it, itself included, and how deep they nest."""
    level: list[Any] = [value] if isinstance(value, (Mapping, list, tuple)) else []
    values, depth = 1, 0
    while level:
        values, depth = values + sum(map(len, level)), depth + 1
        parts: list[Any] = [item.values() if hasattr(item, "values") else item for item in level]
        level = [child for part in parts for child in part if isinstance(child, (dict, list, tuple))]
    return values, depth


def _leads_to_itself(node: object, root: Mapping[str, Any], done: set[int], above: tuple[int, ...]) -> bool:
    if not isinstance(node, Mapping) or id(cast("object", node)) in done:
        return False
    members = cast("Mapping[str, Any]", node)
    if id(members) in above or len(above) > _MAX_CHAIN:
        return True
    inner = (*above, id(members))
    looping = any(_leads_to_itself(child, root, done, inner) for child in _same_place(members, root))
    done.add(id(members))
    return looping


def _same_place(members: Mapping[str, Any], root: Mapping[str, Any]) -> Iterator[object]:
    for name in ("$ref", "$dynamicRef"):
        if isinstance(members.get(name), str):
            yield _target(members[name], root)
    for name in _SAME_PLACE:
        yield members.get(name)
    for name in _SAME_PLACE_LISTS:
        yield from members.get(name, ()) if isinstance(members.get(name), list) else ()
    dependent = members.get("dependentSchemas")
    yield from cast("dict[str, object]", dependent).values() if isinstance(dependent, dict) else ()


def _target(ref: str, root: Mapping[str, Any]) -> object:
    """The subschema that a local reference names; None where the compiler already has its own opinion."""
    if not ref.startswith("#/"):
        return root if ref == "#" else _anchored(ref.removeprefix("#"), root)
    node: Any = root
    for part in ref[2:].split("/"):
        key = part.replace("~1", "/").replace("~0", "~")
        match node:
            case dict():
                node = cast("dict[str, Any]", node).get(key)
            case list() if key.isdecimal() and int(key) < len(cast("list[Any]", node)):
                node = cast("list[Any]", node)[int(key)]
            case _:
                return None
    return node


def _anchored(name: str, root: Mapping[str, Any]) -> object:
    return next((it for it in _schemas(root) if name in (it.get("$anchor"), it.get("$dynamicAnchor"))), None)


def _schemas(root: object) -> Iterator[Mapping[str, Any]]:
    """Every object in the schema, whether or not it is a schema: none that is one is missed."""
    waiting: list[Any] = [root]
    while waiting:
        node = waiting.pop()
        if isinstance(node, dict):
            yield cast("dict[str, Any]", node)
        waiting.extend(_children(cast("Json", node)))
