"""What somebody asks a new tool to be, read from the arguments of `new_tool`. Writes no file and starts nothing."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Literal, cast

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject, ToolCall
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.schema.objects import takes

Returns = Literal["text", "json"]

NEW_TOOL = "new_tool"
NAME_PATTERN = "^[a-z][a-z0-9_]{1,63}$"
TYPES = ("string", "integer", "number", "boolean", "object", "array")
MAX_BODY_BYTES = 64 * 1024
"""A person has to read it before it runs."""

_NAME = re.compile(NAME_PATTERN)


@dataclass(frozen=True, slots=True)
class Draft:
    """`body` is Python, the inside of `async def run(args)`; `parameters` the JSON Schema of `args`, an object's."""

    name: str
    description: str
    body: str
    parameters: JsonObject
    returns: Returns = "text"
    requires: tuple[str, ...] = ()

    @property
    def members(self) -> JsonObject:
        """What the catalog keeps of it, and the digest covers, besides the program."""
        return {
            "name": self.name,
            "description": self.description,
            "parameters": self.parameters,
            "returns": self.returns,
            "requires": list(self.requires),
        }


def read_draft(call: ToolCall) -> Draft:
    """Raises ToolError (validation) with what is wrong."""
    name, description = arguments.text(call, "name"), arguments.text(call, "description").strip()
    if not named_well(name):
        raise invalid(f"name: {name[:80]!r} must be 2 to 64 of a-z, 0-9 and _, and begin with a letter")
    if not description:
        raise invalid("description: say what the tool does")
    body = arguments.required(call, "body").replace("\r\n", "\n").replace("\r", "\n")
    if len(body.encode("utf-8", "replace")) > MAX_BODY_BYTES:
        raise invalid(f"body: it has more than {MAX_BODY_BYTES} bytes")
    returns: Returns = "json" if arguments.text(call, "returns") == "json" else "text"
    return Draft(name, description, body, _parameters(call.arguments.get("args")), returns, _requires(call))


def named_well(name: str) -> bool:
    # `fullmatch`: the pattern's dollar would let a line end pass.
    return _NAME.fullmatch(name) is not None


def invalid(reason: str) -> ToolError:
    return ToolError("validation", NEW_TOOL, reason)


def _requires(call: ToolCall) -> tuple[str, ...]:
    given = call.arguments.get("requires") or ()
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise invalid("requires: a list of package names")
    return tuple(dict.fromkeys(cast("list[str]", names)))


# --- parameters ---------------------------------------------------------------------------------------------


def _parameters(given: Json) -> JsonObject:
    match given:
        case None:
            return takes()
        case Mapping():
            return _as_object_schema(given)
        case list() | tuple():
            return _from_rows(list(given))
        case _:
            raise invalid("args: a JSON Schema object, or a list of {name, type, description, required, default}")


def _as_object_schema(given: JsonObject) -> JsonObject:
    """A schema that says nothing of its type is completed; anything but an object's is no schema of arguments."""
    if given.get("type") == "object":
        return given
    if "type" not in given and (not given or "properties" in given):
        return {"type": "object", **given}
    raise invalid('args: as a JSON Schema it must be {"type": "object", "properties": {...}}')


def _from_rows(rows: list[Json]) -> JsonObject:
    properties: dict[str, Json] = {}
    required: list[Json] = []
    for number, row in enumerate(rows):
        name, schema, needed = _row(row, f"args[{number}]")
        if name in properties:
            raise invalid(f"args[{number}].name: {name!r} is there twice")
        properties[name] = schema
        required += [name] if needed else []
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


def _row(row: Json, where: str) -> tuple[str, JsonObject, bool]:
    if not isinstance(row, Mapping):
        raise invalid(f"{where}: an object {{name, type, description, required, default}}")
    name, kind = row.get("name"), row.get("type") or "string"
    if not isinstance(name, str) or not name.isidentifier():
        raise invalid(f"{where}.name: {str(name)[:80]!r} is no name of an argument")
    if kind not in TYPES:
        raise invalid(f"{where}.type: {str(kind)[:80]!r} is none of {', '.join(TYPES)}")
    schema: dict[str, Any] = {"type": kind}
    schema |= {key: row[key] for key in ("description", "default") if row.get(key) is not None}
    # Who says neither means an argument that is needed.
    needed = row.get("required", "default" not in schema) is True
    return name, schema, needed
