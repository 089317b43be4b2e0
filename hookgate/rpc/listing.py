"""What `--list-models` prints: the known models of every provider, in the columns that zot has. Asks no provider."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.models import models_of
from hookgate.assembly.vendors import VENDORS
from hookgate.protocol.values.models import Model
from hookgate.sections import Config

HEAD = "provider   model id                       context  max-out  reasoning  source"


def model_lines(config: Config) -> Iterator[str]:
    """Those of the configured providers, and of the vendors that need no configuration; 0 where nobody knows."""
    yield HEAD
    vendors = {name: vendor.section() for name, vendor in VENDORS.items()}
    known = config.model_copy(update={"providers": {**vendors, **config.providers}})
    for provider in known.providers:
        for model in models_of(known, provider):
            yield _line(model, "config" if model.name in config.models else "catalog")


def _line(model: Model, source: str) -> str:
    thinks = "✓" if model.reasoning else " "
    columns = (
        f"{model.provider:<10} {model.id:<30} {model.context_window:8} {model.max_output:8}     {thinks}        "
    )
    return f"{columns}{source}"
