"""Which models a conversation may be switched to: those of its provider. Asks no model."""

from __future__ import annotations

from hookgate.cli.models import models_of
from hookgate.embedding.settings import Opening
from hookgate.protocol.models import Model


def known_models(opening: Opening) -> tuple[Model, ...]:
    """Those of the provider, and the one in use, of which nobody may know more than its name."""
    found = models_of(opening.config, opening.provider)
    current = opening.config.agent.model
    return found if any(model.name == current for model in found) else (*found, Model(current))


def known_model(opening: Opening, name: str) -> Model:
    """By its bare name, or PROVIDER/MODEL of this provider. Raises ValueError."""
    bare = name.removeprefix(f"{opening.provider}/")
    for model in known_models(opening):
        if model.id == bare:
            return model
    raise ValueError(f'unknown model "{name}" (provider="{opening.provider}")')
