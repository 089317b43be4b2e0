"""The providers of a configuration, opened, each with its key, its deadlines and what its kind needs."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AsyncExitStack
from pathlib import Path

import trio

from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.config import ConfigError, MissingKey
from hookgate.protocol.errors import ProviderFailed
from hookgate.protocol.interfaces import Provider
from hookgate.protocol.values import LLMReply, LLMRequest
from hookgate.protocol.values.delta import Delta
from hookgate.providers.endpoint.patience import Deadlines
from hookgate.sections.agent import ProviderSection


class Keyless:
    """A provider that no agent uses needs no key, until somebody asks for one of its models."""

    def __init__(self, why: MissingKey) -> None:
        self.why = why

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        await trio.lowlevel.checkpoint()
        raise ProviderFailed("auth", f"it has no key: {self.why}")


async def open_providers(
    stack: AsyncExitStack, settings: Settings, given: Mapping[str, Provider]
) -> dict[str, Provider]:
    """The given ones, and those of the configuration that none is given for."""
    providers, config = dict(given), settings.config
    models = {it.model.partition("/")[0] for it in (config.agent, *config.agents.values()) if it.model}
    for name, section in settings.config.providers.items():
        if name not in providers:
            try:
                key = settings.keys.get(name, "")
                providers[name] = await open_provider(stack, name, section, settings.base, key)
            except MissingKey as error:
                if name in models:
                    raise
                providers[name] = Keyless(error)
    return providers


async def open_provider(
    stack: AsyncExitStack, name: str, section: ProviderSection, base: Path, given_key: str = ""
) -> Provider:
    """Imports only what the kind needs: an HTTP client is the dearest part of a start. A key that is given stands
    instead of the environment's. Raises ConfigError."""
    headers, deadlines = tuple(section.headers.items()), _deadlines(section)
    key = given_key or configuration.api_key(name, section)
    try:
        match section.kind:
            case "openai":
                from hookgate.providers.openai.provider import OPENAI_URL, open_openai

                url = section.base_url or OPENAI_URL
                return await stack.enter_async_context(open_openai(url, key, deadlines, headers))
            case "anthropic":
                from hookgate.providers.anthropic.provider import ANTHROPIC_URL, open_anthropic

                url = section.base_url or ANTHROPIC_URL
                return await stack.enter_async_context(open_anthropic(key, url, deadlines, headers))
            case "scripted" if given_key:
                raise ConfigError(f"providers.{name}: a scripted provider takes no API key")
            case "scripted":
                from hookgate.assembly.scripts import load_script

                return await load_script(base / section.script)
    except ValueError as error:
        raise ConfigError(f"providers.{name}: {error}") from None


def _deadlines(section: ProviderSection) -> Deadlines:
    first, idle, total = section.first_token_timeout_ms, section.idle_timeout_ms, section.total_timeout_ms
    return Deadlines(first / 1000, idle / 1000, total / 1000, section.least_rate)
