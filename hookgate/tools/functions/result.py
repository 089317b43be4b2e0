"""What a function returns as a result: the text for the model, the same as data, and the schema of that.

Imported with the first typed tool. Knows no arguments.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, cast

from pydantic import TypeAdapter
from pydantic_core import PydanticSerializationError, to_jsonable_python

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject, ToolResult
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import success
from hookgate.tools.functions.model import Untitled, explained
from hookgate.tools.output import Items, as_object
from hookgate.tools.schema.clean import Schema, cleaned
from hookgate.tools.text import MAX_BYTES

WRAPPED = "result"
"""Data is always an object: anything else is this member of one."""

_NO_DATA = (None, type(None), str, ToolResult)


@dataclass(frozen=True, slots=True)
class Returns:
    """`schema` describes the data, None where there is none or nobody said; `wrapped`: the data is one member."""

    schema: JsonObject | None = None
    adapter: TypeAdapter[Any] | None = None
    wrapped: bool = False

    def result(self, op: str, value: object) -> ToolResult:
        """Raises ToolError where the value is not what the function says that it returns, or no JSON."""
        if isinstance(value, ToolResult):
            return value
        if self.adapter is None and (value is None or isinstance(value, str)):
            return success(value)
        data = self._data(op, value)
        return success(_text(value, data), data)

    def _data(self, op: str, value: object) -> JsonObject:
        try:
            data = self._json(value)
        except PydanticSerializationError as error:
            raise ToolError("fatal", op, f"it returned what it should not: {str(error).splitlines()[0]}") from error
        return cast("JsonObject", data) if isinstance(data, dict) and not self.wrapped else {WRAPPED: data}

    def _json(self, value: object) -> Json:
        if self.adapter is None:
            return to_jsonable_python(value)
        return self.adapter.dump_python(value, mode="json", by_alias=True, warnings="error")


def returns(function: Callable[..., object], name: str) -> Returns:
    """From the annotation. Raises BadSpec where no JSON can come of it."""
    with explained(name):
        said = inspect.signature(function, eval_str=True).return_annotation
        if said in _NO_DATA or said in (inspect.Signature.empty, Any):
            return Returns()
        adapter = TypeAdapter[Any](said)
        schema = cleaned(adapter.json_schema(mode="serialization", schema_generator=Untitled))
    if _is_object(schema):
        return Returns(schema, adapter)
    return Returns(_wrapping(schema), adapter, wrapped=True)


def _is_object(schema: Schema) -> bool:
    ref, definitions = schema.get("$ref"), schema.get("$defs")
    if isinstance(ref, str) and isinstance(definitions, dict):
        schema = cast("Schema", definitions.get(ref.removeprefix("#/$defs/"), {}))
    return schema.get("type") == "object"


def _wrapping(schema: Schema) -> JsonObject:
    """References are from the root, so definitions go there."""
    inner = {keyword: value for keyword, value in schema.items() if keyword != "$defs"}
    outer: dict[str, Json] = {
        "type": "object",
        "properties": {WRAPPED: inner},
        "required": [WRAPPED],
        "additionalProperties": False,
    }
    return {**outer, "$defs": schema["$defs"]} if "$defs" in schema else outer


def _text(value: object, data: JsonObject) -> str:
    """Strings and numbers as they are, everything else as the object that the data is."""
    if isinstance(value, str | bool | int | float):
        inner = data.get(WRAPPED)
        return inner if isinstance(inner, str) else encode(inner).decode()
    text = encode(data).decode()
    return text if len(text.encode()) <= MAX_BYTES else _fewer(data)


def _fewer(data: JsonObject) -> str:
    """JSON is never cut in the middle: the longest list keeps as many items as fit, and it says so."""
    lists = {key: value for key, value in data.items() if isinstance(value, list)}
    if not lists:
        return encode(data).decode()
    key = max(lists, key=lambda name: len(encode(lists[name])))
    others = {name: value for name, value in data.items() if name != key}
    return encode(as_object(Items("", (), key, cast("list[Mapping[str, Json]]", lists[key]), others))).decode()
