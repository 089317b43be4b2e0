"""What was approved of a tool, in one digest, and the spec that the model sees. Pure."""

from __future__ import annotations

from hashlib import sha256
from typing import cast

from hookgate.protocol.codec import canonical
from hookgate.protocol.values import JsonObject, ToolSpec

PROVIDER = "dynamic"
ADDED = "(Added at run time; unregister_tool removes it.)"

CALL_TIMEOUT_S = 60.0
START_TIMEOUT_S = 10.0
_SPARE_S = 5.0


def digest(source: str, members: JsonObject) -> str:
    """SHA-256, in hex, of the program and the spec. A program that is no text stands as its own digest."""
    return sha256(canonical([source, members])).hexdigest()


def tool_spec(members: JsonObject) -> ToolSpec:
    """It changes state, for all that anybody has proved. Its time covers a call and a start before it."""
    return ToolSpec(
        name=str(members["name"]),
        description=f"{members['description']}\n{ADDED}",
        parameters=cast("JsonObject", members["parameters"]),
        timeout_s=CALL_TIMEOUT_S + START_TIMEOUT_S + _SPARE_S,
        provider=PROVIDER,
    )


def same_tool(said: ToolSpec, members: JsonObject) -> bool:
    """Whether a program says of itself what was approved."""
    asked = (members["name"], members["description"], canonical(members["parameters"]))
    return (said.name, said.description, canonical(said.parameters)) == asked
