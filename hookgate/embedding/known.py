"""Which models a conversation can list, and which it may be switched to: any of a configured provider. Asks none."""

from __future__ import annotations

from hookgate.assembly.models import models_of
from hookgate.protocol.values.models import Model
from hookgate.sections import Config


def known_models(config: Config, current: str) -> tuple[Model, ...]:
    """Those of the provider in use, and the one in use, of which nobody may know more than its name; `current` is
    PROVIDER/MODEL."""
    found = models_of(config, current.partition("/")[0])
    return found if any(model.name == current for model in found) else (*found, Model(current))
