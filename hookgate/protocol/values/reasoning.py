"""How hard a model is to think, as the options that each kind of provider takes. Pure."""

from __future__ import annotations

from collections.abc import Mapping

from hookgate.protocol.values import Json, JsonObject

THINKING = ("reasoning_effort", "thinking")
"""Options that say how hard a model thinks, in the words of one API or another."""
LEVELS = ("minimum", "low", "medium", "high", "xhigh", "max")
OFF = ("off", "")
_BUDGETS: Mapping[str, int] = {
    "minimum": 1024,
    "low": 4096,
    "medium": 10_000,
    "high": 20_000,
    "xhigh": 32_000,
    "max": 48_000,
}
"""Tokens that Anthropic's models may think with."""
_EFFORTS: Mapping[str, str] = {"minimum": "minimal", "max": "xhigh"}
ANSWER_TOKENS = 8192
"""What is left for the answer: the budget for thinking counts against the limit of the whole reply."""


def leveled(reasoning: str) -> str:
    """Empty for off. Raises ValueError."""
    if reasoning in OFF:
        return ""
    if reasoning not in LEVELS:
        raise ValueError(f"reasoning must be off|{'|'.join(LEVELS)}")
    return reasoning


def level_of(options: JsonObject) -> str:
    """The level that these options come from, of whichever kind of provider; empty: none, or they say it in their own
    way."""
    said = _said(options)
    made = ((level, _said(reasoned({}, kind, level))) for level in LEVELS for kind in ("openai", "anthropic"))
    return next((level for level, it in made if it == said), "")


def fitting(options: JsonObject, kind: str) -> JsonObject:
    """A level in the words of another kind of provider is said in those of this one; how long the reply may be stays
    as it is."""
    said = _said(options)
    if not said or not (level := level_of(said)) or (own := _said(reasoned({}, kind, level))) == said:
        return options
    return {**_without(options), **own}


def unthinking(options: JsonObject, most: int = 0) -> JsonObject:
    """For a reply without thinking. `most`: tokens that the model can write, 0 where nobody knows: a level may have
    made room for more."""
    if not _said(options):
        return options
    rest = _without(options)
    limit = rest.get("max_tokens")
    return {**rest, "max_tokens": most} if isinstance(limit, int) and 0 < most < limit else rest


def _said(options: JsonObject) -> JsonObject:
    return {name: options[name] for name in THINKING if name in options}


def _without(options: JsonObject) -> dict[str, Json]:
    return {name: value for name, value in options.items() if name not in THINKING}


def reasoned(options: JsonObject, kind: str, reasoning: str) -> JsonObject:
    """The options with this level instead of any other; `kind` of the provider."""
    rest = _without(options)
    match kind:
        case _ if not reasoning:
            return rest
        case "openai":
            return {**rest, "reasoning_effort": _EFFORTS.get(reasoning, reasoning)}
        case "anthropic":
            budget, given = _BUDGETS[reasoning], rest.get("max_tokens")
            limit = max(given if isinstance(given, int) else 0, budget + ANSWER_TOKENS)
            return {**rest, "max_tokens": limit, "thinking": {"type": "enabled", "budget_tokens": budget}}
        case _:
            return rest
