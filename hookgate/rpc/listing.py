"""What `--list-models` prints: the known models of every provider, in the columns that zot has. Asks no provider."""

from __future__ import annotations

from collections.abc import Iterator

from hookgate.assembly.models import models_of
from hookgate.assembly.vendors import VENDORS
from hookgate.sections import Config

PROVIDER, MODEL = 10, 30
"""How wide these columns are in zot; longer names make them wider."""


def model_lines(config: Config) -> Iterator[str]:
    """Those of the configured providers, and of the vendors that need no configuration; 0 where nobody knows."""
    vendors = {name: vendor.section() for name, vendor in VENDORS.items()}
    known = config.model_copy(update={"providers": {**vendors, **config.providers}})
    models = [model for provider in known.providers for model in models_of(known, provider)]
    provider = max(PROVIDER, *(len(it.provider) for it in models))
    bare = max(MODEL, *(len(it.id) for it in models))
    yield f"{'provider':<{provider}} {'model id':<{bare}} context  max-out  reasoning  source"
    for it in models:
        source, thinks = "config" if it.name in config.models else "catalog", "✓" if it.reasoning else " "
        numbers = f"{it.context_window:8} {it.max_output:8}     {thinks}        "
        yield f"{it.provider:<{provider}} {it.id:<{bare}} {numbers}{source}"
