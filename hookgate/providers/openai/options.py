"""Options in the words of chat completions, as the Messages API has them; what has none there is left out. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast

from hookgate.protocol.values import Json, JsonObject
from hookgate.providers.names import ToolNames

_WITHOUT_WORD = frozenset({"presence_penalty", "frequency_penalty", "seed", "response_format", "reasoning_effort"})
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}


def as_messages_options(options: JsonObject, names: ToolNames) -> dict[str, Json]:
    """What is in the Messages API's own words stays as it is."""
    own = {name: value for name, value in options.items() if name not in _WITHOUT_WORD}
    stop, one_by_one = own.pop("stop", None), own.pop("parallel_tool_calls", None) is False
    if stop is not None:
        own["stop_sequences"] = [stop] if isinstance(stop, str) else stop
    if isinstance(temperature := own.get("temperature"), int | float):
        own["temperature"] = min(temperature, 1)
    choice = _choice(own.pop("tool_choice", None), names)
    if one_by_one:
        choice = {"type": "auto", **(choice or {}), "disable_parallel_tool_use": True}
    if choice is not None:
        own["tool_choice"] = choice
    return own


def _choice(choice: Json, names: ToolNames) -> dict[str, Json] | None:
    if isinstance(choice, str):
        return {"type": _CHOICES[choice]} if choice in _CHOICES else None
    if not isinstance(choice, Mapping):
        return None
    if choice.get("type") == "function" and isinstance(function := choice.get("function"), Mapping):
        return {"type": "tool", "name": names.out(str(function.get("name")))}
    return dict(cast("JsonObject", choice))
