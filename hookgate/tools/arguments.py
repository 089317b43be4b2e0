"""Reads a call's arguments, whose types the schema has already settled. Knows no schema."""

from __future__ import annotations

from hookgate.protocol.values import ToolCall
from hookgate.tools.errors import ToolError


def text(call: ToolCall, name: str) -> str:
    """The string argument, which may be empty."""
    value = call.arguments.get(name)
    return value if isinstance(value, str) else ""


def required(call: ToolCall, name: str) -> str:
    """The string argument. Raises ToolError where it is missing or empty."""
    value = text(call, name)
    if not value:
        raise ToolError("validation", call.name, f"{name} is required")
    return value


def number(call: ToolCall, name: str, default: float) -> float:
    value = call.arguments.get(name)
    return value if isinstance(value, int | float) else default


def whole(call: ToolCall, name: str, default: int) -> int:
    return int(number(call, name, default))


def flag(call: ToolCall, name: str) -> bool:
    return call.arguments.get(name) is True
