"""A webhook channel, opened: what answers its requests, and where goes what it says."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from secrets import token_hex

import trio

from hookgate.channels.platforms.requests import open_requests
from hookgate.channels.webhook.channel import Condition, WebhookChannel
from hookgate.channels.webhook.endpoint import Endpoint
from hookgate.channels.webhook.sender import Sender
from hookgate.channels.webhook.settings import WebhookParts, WebhookSettings
from hookgate.channels.webhook.telling import Telling
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.interfaces import Holds

INSTANCE = "instance"
"""Under which name it is kept which journal this is."""


@dataclass(frozen=True, slots=True)
class OpenWebhook:
    """`endpoint` None: nothing comes in. `telling.hear` wants events."""

    channel: WebhookChannel
    telling: Telling
    endpoint: Endpoint | None


@asynccontextmanager
async def open_webhook(settings: WebhookSettings, parts: WebhookParts) -> AsyncGenerator[OpenWebhook]:
    """Raises StoreFailed."""
    instance, condition = await _instance(settings.name, parts.journal.holds), Condition(settings.name)
    async with open_requests(settings.url) as requests, trio.open_nursery() as nursery:
        sender = Sender(requests, settings) if settings.url else None
        channel = WebhookChannel(settings, instance, sender, condition, parts)
        endpoint = Endpoint(settings, parts, condition) if settings.secrets else None
        telling = Telling(settings.name, parts)
        nursery.start_soon(_begin, parts, condition, endpoint)
        nursery.start_soon(telling.run)
        yield OpenWebhook(channel, telling, endpoint)
        nursery.cancel_scope.cancel()


async def _begin(parts: WebhookParts, condition: Condition, endpoint: Endpoint | None) -> None:
    await parts.ready()
    if endpoint is not None:
        endpoint.is_open = True
    condition.opens()


async def _instance(channel: str, holds: Holds) -> str:
    made = token_hex(8)
    return await holds.change_state(channel, INSTANCE, lambda known: known or made)
