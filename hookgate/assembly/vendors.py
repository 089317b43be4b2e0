"""The providers that need no section of their own: where each is, what it speaks and which variable has its key."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Literal

from hookgate.config import USUAL_MODELS
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections.agent import ProviderSection

NOT_IN_A_NAME = re.compile(r"[^A-Za-z0-9_.-]+")


@dataclass(frozen=True)
class Vendor:
    """`variable` empty: it wants no key; `url` empty: that of its kind; `usual`: the model where none is named."""

    kind: Literal["openai", "anthropic"]
    variable: str = ""
    url: str = ""
    usual: str = ""

    def section(self, *, keyed: bool = True) -> ProviderSection:
        """As a configuration would have it; without its variable where it is not `keyed`."""
        variable = self.variable if keyed else ""
        return ProviderSection(kind=self.kind, base_url=self.url, api_key_env=variable)


VENDORS: Mapping[str, Vendor] = {
    "openai": Vendor("openai", "OPENAI_API_KEY", usual=USUAL_MODELS["openai"]),
    "anthropic": Vendor("anthropic", "ANTHROPIC_API_KEY", usual=USUAL_MODELS["anthropic"]),
    "kimi": Vendor("openai", "KIMI_API_KEY", "https://api.kimi.com/coding/v1", "kimi-for-coding"),
    "ollama": Vendor("openai", url="http://localhost:11434/v1"),
}
"""Those of zot."""
ALIASES: Mapping[str, str] = {
    "openai-codex": "openai",
    "openai-responses": "openai",
    "anthropic-messages": "anthropic",
    "moonshot": "kimi",
    "moonshot-ai": "kimi",
    "kimi-code": "kimi",
}
"""zot's other names of them."""


def variable_of(name: str) -> str:
    """That the key of a provider is read from; of one that is not known here, the name that is usual."""
    vendor = VENDORS.get(name)
    return f"{re.sub('[^A-Z0-9]+', '_', name.upper())}_API_KEY" if vendor is None else vendor.variable


def written(name: str) -> str:
    """The section that makes a provider known, as the end of a sentence."""
    vendor, table = VENDORS.get(name), NOT_IN_A_NAME.sub("-", name)
    kind = "openai" if vendor is None else vendor.kind
    url = "https://..." if vendor is None else vendor.url
    keys = {"kind": kind, "base_url": url, "api_key_env": variable_of(name)}
    said = ", ".join(f'{key} = "{value}"' for key, value in keys.items() if value)
    table = f'"{table}"' if "." in table else table
    unless = "where it speaks OpenAI's API, " if vendor is None else ""
    return f"{unless}write [providers.{table}] {said}"
