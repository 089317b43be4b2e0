"""Requests of the Bot API judged by its published description: every parameter known, of its type, none missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

SPEC = json.loads((Path(__file__).parent / "bot_api.json").read_text())
PLAIN: Mapping[str, Any] = {
    "Integer": {"type": "integer"},
    "Float": {"type": "number"},
    "String": {"type": "string"},
    "Boolean": {"type": "boolean"},
    # What is uploaded is named by `attach://`, or stands in its place.
    "InputFile": {"type": "string"},
}


def problems(method: str, params: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request; nothing, where it is as described."""
    if method not in SPEC["methods"]:
        return [f"there is no method {method}"]
    return [
        f"{method}: {it.message} at {list(it.instance_path)}" for it in _validator(method).iter_errors(dict(params))
    ]


def types_of(method: str, name: str) -> list[str]:
    fields = SPEC["methods"].get(method, {})
    return fields.get(name) or fields.get(f"{name}!") or []


@cache
def _validator(method: str) -> Any:
    definitions = {name: _type(fields) for name, fields in SPEC["types"].items()}
    return jsonschema_rs.validator_for({**_object(SPEC["methods"][method]), "$defs": definitions})


def _type(fields: Mapping[str, Any]) -> dict[str, Any]:
    if "subtypes" in fields:
        return {"anyOf": [{"$ref": f"#/$defs/{name}"} for name in fields["subtypes"]]}
    return _object(fields)


def _object(fields: Mapping[str, list[str]]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": {
            name.removesuffix("!"): {"anyOf": [_one(it) for it in types]} for name, types in fields.items()
        },
        "required": [name.removesuffix("!") for name in fields if name.endswith("!")],
        "additionalProperties": False,
    }


def _one(type_: str) -> dict[str, Any]:
    if type_.startswith("Array of "):
        return {"type": "array", "items": _one(type_.removeprefix("Array of "))}
    return dict(PLAIN[type_]) if type_ in PLAIN else {"$ref": f"#/$defs/{type_}"}
