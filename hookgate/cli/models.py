"""What is known of models: the table that comes with hookgate, and above it the configuration's own entries."""

from __future__ import annotations

from hookgate.protocol.models import Model, Prices
from hookgate.sections import Config
from hookgate.sections.agent import ModelSection


def model_of(config: Config, name: str) -> Model | None:
    """By PROVIDER/MODEL; None where nobody knows anything about it."""
    provider, _, bare = name.partition("/")
    section = config.providers.get(provider)
    known = _known(provider, section.kind, bare) if section is not None else None
    own = config.models.get(name)
    return known if own is None else _overridden(known or Model(name), own)


def models_of(config: Config, provider: str) -> tuple[Model, ...]:
    """Those of one provider, sorted by name."""
    from hookgate.providers.models import known_models

    section = config.providers.get(provider)
    names = {model.name for model in known_models(provider, section.kind)} if section is not None else set[str]()
    names |= {name for name in config.models if name.partition("/")[0] == provider}
    found = (model_of(config, name) for name in sorted(names))
    return tuple(model for model in found if model is not None)


def _known(provider: str, kind: str, name: str) -> Model | None:
    from hookgate.providers.models import known_model

    return known_model(provider, kind, name)


def _overridden(known: Model, own: ModelSection) -> Model:
    prices = Prices(*own.prices) if own.prices is not None else known.prices
    return Model(
        known.name,
        known.context_window if own.context_window is None else own.context_window,
        known.max_output if own.max_output is None else own.max_output,
        known.reasoning if own.reasoning is None else own.reasoning,
        prices,
    )
