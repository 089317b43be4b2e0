"""What is known of models: the table that comes with hookgate, and above it the configuration's own entries."""

from __future__ import annotations

from ipaddress import ip_address
from urllib.parse import urlsplit

from hookgate.assembly.vendors import VENDORS
from hookgate.mistakes import close
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.models import Model, Prices
from hookgate.sections import Config
from hookgate.sections.agent import ModelSection, ProviderSection

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
    if word and bare and provider in config.providers:
        return name
    if word and here and not (slash and not bare):
        return f"{here}/{name}"
    known = ", ".join(config.providers) or "none"
    raise ValueError(f"{name!r} names no model: write it PROVIDER/MODEL, with a configured provider ({known})")


def unknown_of(config: Config, name: str) -> str:
    """A line that says what nobody knows of a model, what follows and how to tell; empty where all is known."""
    provider, _, bare = name.partition("/")
    section = config.providers.get(provider)
    if section is None or section.kind == "scripted":
        return ""
    model = model_of(config, name) or Model(name)
    missing: list[str] = []
    if not model.context_window:
        missing.append(
            "its context window is not known (a long conversation is summed up only once the endpoint refuses it)"
        )
    if model.prices is None:
        missing.append("its price is not known (it counts as 0)")
    if not missing:
        return ""
    meant = close(bare, [it.partition("/")[2] for it in _of_vendor(provider, section)])
    return f'{name}{meant}: {" and ".join(missing)}; [models."{name}"] can say so'


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
