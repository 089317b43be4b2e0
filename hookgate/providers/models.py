"""The models that hookgate knows by name, from `models.toml` beside this file. Calls no model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookgate.protocol.values.models import Model, Prices

_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
"""`claude-sonnet-4-5-20250929` is claude-sonnet-4-5."""
_OPEN = "open"
_MARK = re.compile(r"[:@_-]|$")


def known_models(provider: str, kind: str) -> tuple[Model, ...]:
    """Those that the vendor of a kind of provider offers itself, under the provider's own name."""
    return tuple(_model(f"{provider}/{name}", members) for name, members in _table().get(kind, {}).items())


def known_model(provider: str, kind: str, name: str) -> Model | None:
    """One by its bare name, which may carry a date, or of an open model its size and who made it."""
    members = _table().get(kind, {}).get(name) or _undated(kind).get(_DATED.sub("", name))
    if members is None and kind == "openai":
        members = _family(name)
    return _model(f"{provider}/{name}", members) if members is not None else None


def _family(name: str) -> Mapping[str, Any] | None:
    """The longest that the name begins with: `qwen/qwen3-coder:30b` is a qwen3-coder, no qwen3."""
    bare = name.rpartition("/")[2].lower()
    found = [family for family in _table()[_OPEN] if bare.startswith(family) and _MARK.match(bare, len(family))]
    if not found:
        return None
    # A later model of a family that does not think may: `qwen3-next:80b-a3b-thinking`.
    members = _table()[_OPEN][max(found, key=len)]
    return {**members, "reasoning": members["reasoning"] or None}


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(files("hookgate.providers").joinpath("models.toml").read_text(encoding="utf-8"))


@cache
def _undated(kind: str) -> Mapping[str, Any]:
    return {_DATED.sub("", name): members for name, members in _table().get(kind, {}).items()}


def _model(name: str, members: Mapping[str, Any]) -> Model:
    prices = members.get("prices")
    return Model(
        name,
        members.get("context_window", 0),
        members.get("max_output", 0),
        members.get("reasoning"),
        Prices(*prices) if prices else None,
    )
