"""A call's arguments: what configuration says about them, and reading those whose types a schema has settled.

Knows no schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import Json, JsonObject, ToolCall
from hookgate.tools.errors import ToolError

ALIAS = "alias"
"""The decode step of arguments of which some came under another name."""


@dataclass(frozen=True, slots=True)
class ArgumentRules:
    """What configuration says about one tool's arguments. `aliases`: other names for them. `defaults` stand under
    what the model wrote."""

    aliases: Mapping[str, str] = field(default_factory=dict[str, str])
    defaults: JsonObject = field(default_factory=dict[str, Json])

    def applied(self, call: ToolCall) -> ToolCall:
        """The same call where nothing applies. Aliases come first, so that a default never hides what was written."""
        call = self._renamed(call) if self.aliases else call
        if not self.defaults:
            return call
        # Models write null for what they do not want to say.
        missing = {name: it for name, it in self.defaults.items() if call.arguments.get(name) is None}
        return replace(call, arguments={**call.arguments, **missing}) if missing else call

    def _renamed(self, call: ToolCall) -> ToolCall:
        """An alias beside the name that it stands for stays what it is: an argument that the tool does not know."""
        given = call.arguments
        names = {alias: name for alias, name in self.aliases.items() if alias in given and name not in given}
        if not names or len(set(names.values())) < len(names):
            return call
        decode = call.decode
        steps = decode.steps if ALIAS in decode.steps else (*decode.steps, ALIAS)
        arguments = {names.get(name, name): value for name, value in given.items()}
        return replace(call, arguments=arguments, decode=replace(decode, steps=steps))


NO_RULES = ArgumentRules()


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
