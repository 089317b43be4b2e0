"""JSON Schemas of tools: refused at registration where they cannot work, compiled once, applied to arguments.

Knows neither the tool nor the call; nothing is ever fetched for a schema.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, cast

from hookgate.protocol.codec import canonical, decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.errors import BadSpec
from hookgate.tools.failures import meant
from hookgate.tools.schema.cost import MAX_STEPS, check_cost, steps
from hookgate.tools.schema.patterns import MAX_PATTERNS, Meter, name_options, pattern_keyword
from hookgate.tools.schema.references import references, schemas, without_base

if TYPE_CHECKING:
    import jsonschema_rs

MAX_SCHEMA_BYTES = 32 * 1024
MAX_DEPTH = 64
MAX_WORK_BYTES = 1 << 30
"""Bytes of one value times the schemas that judge it: a long text is counted through by each of them."""
_MAX_PROBLEMS = 5
_PROBLEM_CHARS = 300
_MANY_STEPS = 5_000
# Every mistake is made with the value that it is about and with a part of the schema, each a copy.
_COPIED_BYTES = 8 << 20
_ERROR_BYTES = 64
_FEW_WAYS = 200
# What names of members cost that patterns judge, times the schemas that judge them.
_NAMED_WORK = 20_000_000
_TOO_LONG = "there is more text than can be checked against this schema's patterns"
_UNTOLD = "the arguments do not fit the schema, and are too large to say where"


def check_schema(schema: JsonObject) -> None:
    """Raises BadSpec: too large or deep, does not compile, or refers to itself without consuming anything."""
    if too_deep(schema, MAX_DEPTH):
        raise BadSpec(f"the schema nests deeper than {MAX_DEPTH}")
    text = canonical(schema)
    if len(text) > MAX_SCHEMA_BYTES:
        raise BadSpec(f"the schema has {len(text)} bytes, more than {MAX_SCHEMA_BYTES}")
    _compiled(text)


def problems(schema: JsonObject, arguments: JsonObject) -> tuple[str, ...]:
    """What is wrong with the arguments, in at most five lines; nothing if they fit. Takes some 20 ms at most."""
    text = canonical(schema)
    checked = _compiled(text)
    values, depth = _extent(arguments)
    ways = _steps(text, min(depth, MAX_DEPTH))
    if values * ways > MAX_STEPS:
        return (f"{values} values are too many to be held against this schema",)
    if ways > _FEW_WAYS and ways * len(encode(arguments)) > MAX_WORK_BYTES:
        return ("the arguments are too long to be held against this schema",)
    if checked.by_name and ways * sum(map(len, _names(arguments))) > _NAMED_WORK:
        return (_TOO_LONG,)
    fits = checked.fits(arguments)
    if checked.meter.exceeded:
        return (_TOO_LONG,)
    if fits:
        return ()
    return _told(schema, checked, arguments, ways)


def _told(schema: JsonObject, checked: _Checked, value: JsonObject, ways: int) -> tuple[str, ...]:
    """All errors are made before the first is handed over, as are all that each of several alternatives has."""
    steps = ways * _extent(value)[0]
    copied = ways * len(encode(value)) + steps * checked.shown_bytes
    if steps <= _MANY_STEPS and copied <= _COPIED_BYTES:
        errors = checked.errors(value)
    elif copied <= _COPIED_BYTES or not checked.alternatives:
        errors = checked.first(value)
    else:
        errors = ()
    return tuple(dict.fromkeys(_problem(schema, error) for error in errors)) or (_UNTOLD,)


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

    validator: jsonschema_rs.Validator
    meter: Meter
    alternatives: bool
    shown_bytes: int
    by_name: bool

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
    """Raises BadSpec: everything that could take long is found before the compiler sees it."""
    import jsonschema_rs

    root = cast("dict[str, Any]", decode(schema))
    check_cost(references(root))
    named = [node["patternProperties"] for node in schemas(root) if isinstance(node.get("patternProperties"), dict)]
    if sum(map(len, named)) > MAX_PATTERNS:
        raise BadSpec(f"the schema has more than {MAX_PATTERNS} patterns")
    meter = Meter()
    keywords, options = {"pattern": pattern_keyword(meter)}, name_options()
    try:
        # The dialect that `$schema` names. Formats stay what they are by default: a remark.
        made = jsonschema_rs.validator_cls_for(root)(
            without_base(root), offline=True, keywords=keywords, pattern_options=options, validate_formats=False
        )
    except (jsonschema_rs.ValidationError, jsonschema_rs.ReferencingError, ValueError) as error:
        raise BadSpec(f"the schema does not compile: {str(error).splitlines()[0][:_PROBLEM_CHARS]}") from None
    meter.check()
    alternatives = b'"anyOf"' in schema or b'"oneOf"' in schema
    return _Checked(made, meter, alternatives, _shown_bytes(root), bool(named))


def _shown_bytes(root: Mapping[str, Any]) -> int:
    """What one error takes at most, beside the value: some repeat what the schema says."""
    said = (node[key] for node in schemas(root) for key in ("enum", "const", "not") if key in node)
    return _ERROR_BYTES + max((len(encode(it)) for it in said), default=0)


@lru_cache(maxsize=2048)
def _steps(schema: bytes, depth: int) -> int:
    return steps(references(cast("dict[str, Any]", decode(schema))), depth)


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


def _extent(value: Json) -> tuple[int, int]:
    """How many values there are in it, itself included, and how deep they nest."""
    level: list[Any] = [value] if isinstance(value, (Mapping, list, tuple)) else []
    values, depth = 1, 0
    while level:
        values, depth = values + sum(map(len, level)), depth + 1
        parts: list[Any] = [item.values() if hasattr(item, "values") else item for item in level]
        level = [child for part in parts for child in part if isinstance(child, (dict, list, tuple))]
    return values, depth


def _names(value: Json) -> Iterator[str]:
    """The names of all members, at any depth."""
    waiting: list[Json] = [value]
    while waiting:
        node = waiting.pop()
        yield from node if isinstance(node, Mapping) else ()
        waiting.extend(_children(node))
