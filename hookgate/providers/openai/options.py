"""Options as chat completions and as the Messages API have them, in whichever words; what has none there is left out.
Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import cast
from urllib.parse import urlsplit

from hookgate.protocol.values import Json, JsonObject
from hookgate.protocol.values.reasoning import fitting
from hookgate.providers.names import ToolNames

_WITHOUT_WORD = frozenset({"presence_penalty", "frequency_penalty", "seed", "response_format", "reasoning_effort"})
_AGAINST_THINKING = frozenset({"temperature", "top_p", "top_k", "tool_choice"})
"""Beside one of them the Messages API takes no thinking that was asked for in the other API's words."""
_CHOICES = {"auto": "auto", "none": "none", "required": "any"}

_OPENAIS = (".api.openai.com", ".openai.azure.com")


def limit_word(base_url: str) -> str:
    """What the longest answer is called there: OpenAI's models that think refuse the old word, and most other servers
    know no other."""
    host = urlsplit(base_url).hostname or ""
    return "max_completion_tokens" if f".{host}".endswith(_OPENAIS) else "max_tokens"


def as_completions_options(options: JsonObject, limit: str) -> dict[str, Json]:
    """`limit`: as `limit_word` has it. A budget for thinking that is no level's is the Messages API's alone."""
    own = dict(fitting(options, "openai"))
    if isinstance(thinking := own.get("thinking"), Mapping) and "budget_tokens" in thinking:
        del own["thinking"]
    if limit != "max_tokens" and (most := own.pop("max_tokens", None)) is not None:
        own.setdefault(limit, most)
    return own


def as_messages_options(options: JsonObject, names: ToolNames) -> dict[str, Json]:
    """What is in the Messages API's own words stays as it is."""
    said = options if _AGAINST_THINKING & options.keys() else fitting(options, "anthropic")
    own = {name: value for name, value in said.items() if name not in _WITHOUT_WORD}
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
