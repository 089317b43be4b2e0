"""What a spec must be before a model may see it: name, description, flags, schema, preference. Knows no registry."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import cast

from hookgate.protocol.values import JsonObject, ToolSpec
from hookgate.tools.errors import BadSpec
from hookgate.tools.schema.check import check_schema

_NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
MAX_DESCRIPTION_BYTES = 2 * 1024


def check_spec(spec: ToolSpec) -> None:
    """Raises BadSpec with the name of the tool and what is wrong with it."""
    if not _NAME.fullmatch(spec.name):
        raise BadSpec(f"{spec.name[:80]!r} is no tool name: letters, digits, _ . - and at most 64 of them")
    if len(spec.description.encode("utf-8", "replace")) > MAX_DESCRIPTION_BYTES:
        raise BadSpec(f"{spec.name}: the description has more than {MAX_DESCRIPTION_BYTES} bytes")
    if spec.pure and not spec.read_only:
        raise BadSpec(f"{spec.name}: a tool that changes state cannot be pure")
    if not spec.timeout_s > 0:
        raise BadSpec(f"{spec.name}: timeout_s must be positive")
    try:
        check_schema(spec.parameters)
    except BadSpec as error:
        raise BadSpec(f"{spec.name}: {error}") from None
    if not _takes_an_object(spec.parameters):
        raise BadSpec(f"{spec.name}: its parameters are no object, and arguments always are")
    for key in unknown_arguments(spec.parameters, spec.preference.overrides):
        raise BadSpec(f"{spec.name}: its preference overrides {key!r}, which is none of its arguments")


def _takes_an_object(schema: JsonObject) -> bool:
    kind = schema.get("type", "object")
    return "object" in kind if isinstance(kind, (list, tuple)) else kind == "object"


def spec_problem(spec: ToolSpec) -> str | None:
    """What `check_spec` finds, as a value: for specs that come with a request."""
    try:
        check_spec(spec)
    except BadSpec as error:
        return str(error)
    return None


def unknown_arguments(schema: JsonObject, names: Mapping[str, object]) -> tuple[str, ...]:
    """The names that are no arguments of a tool; a schema that lists none takes any."""
    known = argument_names(schema)
    if not known or "patternProperties" in schema or schema.get("additionalProperties") not in (None, False):
        return ()
    return tuple(name for name in names if name not in known)


def argument_names(schema: JsonObject) -> tuple[str, ...]:
    """The arguments that the schema names, in its order."""
    properties = schema.get("properties")
    return tuple(cast("Mapping[str, object]", properties)) if isinstance(properties, Mapping) else ()
