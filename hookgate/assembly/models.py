"""What is known of models: the table that comes with hookgate, and above it the configuration's own entries."""

from __future__ import annotations

from ipaddress import ip_address
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookgate import config as configuration
from hookgate.assembly.vendors import VENDORS, written
from hookgate.config import MissingKey
from hookgate.mistakes import close
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.values.models import Model, Prices
from hookgate.sections import Config
from hookgate.sections.agent import ModelSection, ProviderSection

if TYPE_CHECKING:
    from hookgate.assembly.settings import Settings

FREE = Prices()


def model_of(config: Config, name: str) -> Model | None:
    """By PROVIDER/MODEL; None where nobody knows anything about it."""
    provider, _, bare = name.partition("/")
    section = config.providers.get(provider)
    known = _known(provider, section, bare) if section is not None else None
    own = config.models.get(name)
    return known if own is None else _overridden(known or Model(name), own)


def models_of(config: Config, provider: str) -> tuple[Model, ...]:
    """Those of one provider, sorted by name: its vendor's, and the configuration's own entries. Which ones the server
    of anybody else has, nobody knows."""
    section = config.providers.get(provider)
    names = set(_of_vendor(provider, section)) if section is not None else set[str]()
    names |= {name for name in config.models if name.partition("/")[0] == provider}
    found = (model_of(config, name) for name in sorted(names))
    return tuple(model for model in found if model is not None)


def named_model(config: Config, name: str, current: str) -> str:
    """PROVIDER/MODEL of what somebody asks for: a model of a configured provider, else a bare name at the provider of
    `current`. Raises ValueError."""
    provider, slash, bare = name.partition("/")
    word, here = name.split() == [name], current.partition("/")[0]
    known = ", ".join(config.providers) or "none"
    if word and bare and provider in config.providers:
        return name
    if word and here and not (slash and not bare):
        section = config.providers.get(here)
        # No model of a vendor's own has a slash in its name; those that others offer may.
        if slash and section is not None and section.is_vendor:
            meant = close(provider, config.providers) or f" (there is {known})"
            raise ValueError(f'provider "{provider}" is not configured{meant}; {written(provider)} in hookgate.toml')
        return f"{here}/{name}"
    raise ValueError(f"{name!r} names no model: write it PROVIDER/MODEL, with a configured provider ({known})")


def chosen_model(settings: Settings, name: str, current: str) -> str:
    """As `named_model`, where its provider can be asked. Raises ValueError."""
    named = named_model(settings.config, name, current)
    if why := keyless(settings, named.partition("/")[0]):
        raise ValueError(f"{named} cannot be asked: {why}")
    return named


def keyless(settings: Settings, provider: str) -> str:
    """Why nobody can ask a configured provider; empty where somebody can, as far as keys go."""
    section = settings.config.providers.get(provider)
    try:
        if section is not None and provider not in settings.keys:
            configuration.api_key(provider, section)
    except MissingKey as error:
        return str(error)
    return ""


def taken_for(name: str, named: str) -> str:
    """That what looks like a provider's name was taken for a part of a model's; empty where it was not."""
    provider, slash, _ = name.partition("/")
    # A model's own name may have a slash; a provider's that is mistyped looks the same.
    return f"{provider} is no provider here, so {name} is taken for a model's name" if slash and named != name else ""


def unknown_of(config: Config, name: str) -> str:
    """A line that says what nobody knows of a model, what follows and how to tell; empty where all is known."""
    provider, _, bare = name.partition("/")
    section = config.providers.get(provider)
    if section is None or section.kind == "scripted":
        return ""
    model, listed = model_of(config, name) or Model(name), _of_vendor(provider, section)
    missing: list[str] = []
    if not model.context_window:
        missing.append(
            "its context window is not known (a long conversation is summed up only once the endpoint refuses it)"
        )
    if model.prices is None:
        missing.append("its price is not known (it counts as 0)")
    if not missing:
        return ""
    meant = close(bare, [it.partition("/")[2] for it in listed])
    unlisted = listed and name not in config.models
    strange = f"none of the models that {provider} is known to have, and asked for all the same; " if unlisted else ""
    return f'{name}{meant}: {strange}{" and ".join(missing)}; [models."{name}"] can say so'


def vendors_of(bare: str) -> set[str]:
    """Those that are known to sell a model of this name."""
    sections = {name: vendor.section() for name, vendor in VENDORS.items()}
    return {name for name, section in sections.items() if f"{name}/{bare}" in _of_vendor(name, section)}


def _known(provider: str, section: ProviderSection, name: str) -> Model | None:
    from hookgate.providers.models import known_model

    known = known_model(provider, section.kind, name)
    if not _at_home(section) or (known is not None and known.prices is not None):
        return known
    return replace(known or Model(f"{provider}/{name}"), prices=FREE)


def _of_vendor(provider: str, section: ProviderSection) -> list[str]:
    from hookgate.providers.models import known_models

    return [model.name for model in known_models(provider, section.kind)] if section.is_vendor else []


def _at_home(section: ProviderSection) -> bool:
    """Whether it runs on this machine or network: what no vendor sells costs nothing there."""
    host = urlsplit(section.base_url).hostname or ""
    try:
        return not ip_address(host).is_global
    except ValueError:
        return bool(host) and (host == "localhost" or host.endswith((".localhost", ".local")) or "." not in host)


def _overridden(known: Model, own: ModelSection) -> Model:
    prices = Prices(*own.prices) if own.prices is not None else known.prices
    return Model(
        known.name,
        known.context_window if own.context_window is None else own.context_window,
        known.max_output if own.max_output is None else own.max_output,
        known.reasoning if own.reasoning is None else own.reasoning,
        prices,
        known.pictures if own.pictures is None else own.pictures,
    )
