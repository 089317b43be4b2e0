"""Which model answers in a chat: what `/model` says and does."""

from __future__ import annotations

import trio

from hookgate.assembly.app import Runtime
from hookgate.assembly.models import chosen_model, keyless, models_of, taken_for, unknown_of
from hookgate.assembly.settings import Settings
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace


def model(runtime: Runtime, chat: Chat, name: str) -> str:
    """What `/model` answers. With a name, that model answers in this chat from the next message on."""
    config, agent = runtime.settings.config, runtime.gateway.agent_of(chat)
    if not name:
        provider = agent.model.partition("/")[0]
        known = ", ".join(it.id for it in models_of(config, provider))
        listed = f" {provider} has {known}." if known else ""
        asked = _asked(runtime.settings)
        others = [f"{it} ({section.api_key_env})" for it, section in config.providers.items() if it not in asked]
        unset = f" No key is set for {', '.join(others)}." if others else ""
        return f"{agent.model} answers.{listed} /model takes any name of any provider: {', '.join(asked)}.{unset}"
    try:
        named = chosen_model(runtime.settings, name, agent.model)
    except ValueError as error:
        return f"! {error}"
    runtime.gateway.exchange(chat, replace(agent, model=named))
    note, taken = unknown_of(config, named), taken_for(name, named)
    meant = f" ({taken})" if taken else ""
    return f"{named} answers from here on{meant}." + (f"\n! {note}" if note else "")


async def models(runtime: Runtime, _chat: Chat) -> list[str]:
    """What is known that `/model` could name."""
    await trio.lowlevel.checkpoint()
    config = runtime.settings.config
    known = (f"{provider}/{it.id}" for provider in _asked(runtime.settings) for it in models_of(config, provider))
    return [*dict.fromkeys((*(it.model for it in (config.agent, *config.agents.values()) if it.model), *known))]


def _asked(settings: Settings) -> list[str]:
    """The providers that can be asked."""
    return [provider for provider in settings.config.providers if not keyless(settings, provider)]
