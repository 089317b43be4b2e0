"""What the tools that list something of the workspace have in common in their specs. Looks for nothing itself."""

from __future__ import annotations

from hookgate.protocol.values import JsonObject, ToolSpec

SHOW_HIDDEN: JsonObject = {
    "type": "boolean",
    "description": "Also names that begin with a dot. Default false.",
}
TRUNCATED: JsonObject = {"type": "boolean"}
SHOW_IGNORED: JsonObject = {
    "type": "boolean",
    "description": "Also what .gitignore leaves out. Default false.",
}


def finding_spec(name: str, description: str, arguments: JsonObject, found: JsonObject) -> ToolSpec:
    """A tool that changes nothing and whose result is true until something does, in either form."""
    return ToolSpec(
        name=name,
        description=description,
        parameters=arguments,
        mutates=False,
        affects_workspace=False,
        pure=True,
        access="read",
        output_schema=found,
    )
