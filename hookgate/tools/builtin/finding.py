"""What the tools that list something of the workspace have in common in their specs. Looks for nothing itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hookgate.protocol.values import Json, JsonObject, ToolSpec
from hookgate.tools.output import OUTPUT_ARGUMENT

SHOW_HIDDEN: JsonObject = {
    "type": "boolean",
    "description": "Also names that begin with a dot. Default false.",
}
SHOW_IGNORED: JsonObject = {
    "type": "boolean",
    "description": "Also what .gitignore leaves out. Default false.",
}


def finding_spec(name: str, description: str, arguments: JsonObject, found: JsonObject) -> ToolSpec:
    """A tool that changes nothing and whose result is true until something does, in either form.

    `arguments` and `found` are the `properties` of its arguments and of its data, and what of them is `required`.
    """
    properties = cast("Mapping[str, Json]", arguments["properties"])
    members, needed = cast("Mapping[str, Json]", found["properties"]), cast("list[Json]", found["required"])
    return ToolSpec(
        name=name,
        description=description,
        parameters={
            "type": "object",
            **arguments,
            "properties": {**properties, "output": OUTPUT_ARGUMENT},
            "additionalProperties": False,
        },
        mutates=False,
        affects_workspace=False,
        pure=True,
        access="read",
        output_schema={
            "type": "object",
            "properties": {**members, "truncated": {"type": "boolean"}},
            "required": [*needed, "truncated"],
        },
    )
