"""Requests of the Web API judged by what the official client library declares of its methods, and blocks by its
limits: every parameter known, of its type, none missing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any

import jsonschema_rs

API = json.loads((Path(__file__).parent / "web_api.json").read_text())
MAX_TEXT: Mapping[str, int] = {"chat.postMessage": 40_000, "chat.update": 4000}


def problems(method: str, params: Mapping[str, Any]) -> list[str]:
    """What is wrong with a request; nothing, where it is as declared."""
    if method not in API["methods"]:
        return [f"there is no method {method}"]
    found = [f"{method}: {it.message} at {list(it.instance_path)}" for it in _validator(method).iter_errors(params)]
    if len(params.get("text", "")) > MAX_TEXT.get(method, 40_000):
        found.append(f"{method}: a text of {len(params['text'])} characters")
    if len(params.get("markdown_text", "")) > 12_000:
        found.append(f"{method}: Markdown of {len(params['markdown_text'])} characters")
    return found


def typed(method: str, form: Mapping[str, str]) -> dict[str, Any]:
    """Of a form, in which all is text."""
    declared = {name.removesuffix("!"): types for name, types in API["methods"].get(method, {}).items()}
    return {name: _typed(declared.get(name, ["string"]), value) for name, value in form.items()}


def _typed(types: list[str], value: str) -> Any:
    if "string" in types and not ("array" in types and value.startswith("[")):
        return value
    # The client library writes numbers for these.
    return value == "1" if types == ["boolean"] and value in ("0", "1") else json.loads(value)


@cache
def _validator(method: str) -> Any:
    declared = API["methods"][method]
    # The library says this with every method of a bot of a whole organisation.
    properties: dict[str, Any] = {"team_id": {"type": "string"}}
    properties |= {name.removesuffix("!"): _property(name, types) for name, types in declared.items()}
    return jsonschema_rs.validator_for(
        {
            "type": "object",
            "properties": properties,
            "required": [name.removesuffix("!") for name in declared if name.endswith("!")],
            "additionalProperties": False,
            "$defs": API["blocks"],
        }
    )


def _property(name: str, types: list[str]) -> dict[str, Any]:
    return {"$ref": "#/$defs/blocks"} if name == "blocks" else {"type": types}
