"""Providers that count what their calls cost, and that wait before a call while too much waits to be read."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from hookgate.protocol.interfaces import Provider
from hookgate.protocol.rpc.events import Spent
from hookgate.protocol.values import LLMReply, LLMRequest, Usage
from hookgate.protocol.values.delta import Counted, Delta
from hookgate.protocol.values.models import Model

KnownModel = Callable[[str], Model | None]
Room = Callable[[], Awaitable[None]]
"""Returns once there is room for what a model call leads to."""


class Ledger:
    """What a conversation has cost so far, summaries of it included, and what it has since the last `begin`."""

    def __init__(self, known_model: KnownModel) -> None:
        self.total = self.since = Spent()
        self._known_model = known_model

    def price(self, model: str, usage: Usage | None) -> Spent:
        """`model` is PROVIDER/MODEL."""
        if usage is None:
            return Spent()
        known = self._known_model(model)
        cost = known.prices.cost(usage) if known is not None and known.prices is not None else 0.0
        tokens = (usage.fresh_tokens, usage.completion_tokens, usage.cached_tokens, usage.cache_write_tokens)
        return Spent(*tokens, cost)

    def begin(self) -> None:
        self.since = Spent()

    def add(self, model: str, usage: Usage | None) -> None:
        price = self.price(model, usage)
        self.total, self.since = self.total + price, self.since + price


class Metered:
    """One provider, under its name in the configuration."""

    def __init__(self, name: str, provider: Provider, ledger: Ledger, room: Room) -> None:
        self._name, self._provider = name, provider
        self._ledger, self._room = ledger, room

    async def complete(self, request: LLMRequest, on_text: Callable[[Delta], None]) -> LLMReply:
        # Here nobody is kept waiting but the conversation that is not read: no hook is being asked.
        await self._room()
        used: Usage | None = None

        def hear(delta: Delta) -> None:
            nonlocal used
            used = delta.usage if isinstance(delta, Counted) else used
            on_text(delta)

        try:
            reply = await self._provider.complete(request, hear)
            used = reply.usage
        finally:
            # A call that breaks off costs what it has used.
            self._ledger.add(f"{self._name}/{request.model}", used)
        return reply


def metered(providers: Mapping[str, Provider], ledger: Ledger, room: Room) -> dict[str, Provider]:
    return {name: Metered(name, provider, ledger, room) for name, provider in providers.items()}
