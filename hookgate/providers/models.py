"""The models that hookgate knows by name, from `models.toml` beside this file. Calls no model."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any

from hookgate.protocol.models import Model, Prices

_DATED = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d|latest)$")
"""`claude-sonnet-4-5-20250929` is claude-sonnet-4-5."""


def known_models(provider: str, kind: str) -> tuple[Model, ...]:
    """Those of a kind of provider, under the provider's own name."""
    return tuple(_model(f"{provider}/{name}", members) for name, members in _table().get(kind, {}).items())


def known_model(provider: str, kind: str, name: str) -> Model | None:
    """One by its bare name, which may carry a date."""
    models = _table().get(kind, {})
    members = models.get(name) or models.get(_DATED.sub("", name))
    return _model(f"{provider}/{name}", members) if members is not None else None


@cache
def _table() -> Mapping[str, Mapping[str, Any]]:
    return tomllib.loads(files("hookgate.providers").joinpath("models.toml").read_text(encoding="utf-8"))


def _model(name: str, members: Mapping[str, Any]) -> Model:
    return Model(
        name,
        members.get("context_window", 0),
        members.get("max_output", 0),
        members.get("reasoning", False),
        Prices(*members.get("prices", ())),
    )
