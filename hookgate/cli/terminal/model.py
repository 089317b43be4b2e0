"""Which model answers in a chat: what `/model` says and does."""

from __future__ import annotations

import trio

from hookgate.assembly.app import Runtime
from hookgate.assembly.models import models_of, named_model, unknown_of
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import replace


def model(runtime: Runtime, chat: Chat, name: str) -> str:
    """What `/model` answers. With a name, that model answers in this chat from the next message on."""
    config, agent = runtime.settings.config, runtime.gateway.agent_of(chat)
    if not name:
        provider = agent.model.partition("/")[0]
        known = ", ".join(it.id for it in models_of(config, provider))
        listed = f" {provider} has {known}." if known else ""
        return f"{agent.model} answers.{listed} /model takes any name of any provider: {', '.join(config.providers)}."
    try:
        named = named_model(config, name, agent.model)
    except ValueError as error:
        return f"! {error}"
    runtime.gateway.exchange(chat, replace(agent, model=named))
    note = unknown_of(config, named)
    provider, slash, _ = name.partition("/")
    # A model's own name may have a slash; a provider's that is mistyped looks the same.
    taken = (
        f" ({provider} is no provider here, so {name} is taken for a model's name)" if slash and named != name else ""
    )
    return f"{named} answers from here on{taken}." + (f"\n! {note}" if note else "")


async def models(runtime: Runtime, _chat: Chat) -> list[str]:
    """What is known that `/model` could name."""
    await trio.lowlevel.checkpoint()
    config = runtime.settings.config
    known = (f"{provider}/{it.id}" for provider in config.providers for it in models_of(config, provider))
    return [*dict.fromkeys((*(it.model for it in (config.agent, *config.agents.values()) if it.model), *known))]
