"""The channel, opened: its application, what watches clients that leave, what forgets requests of their own."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from hookgate.channels.http.server import App
from hookgate.channels.openai.app import OpenAIApi
from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.forgetting import Forgetting
from hookgate.channels.openai.leaving import Leaving
from hookgate.channels.openai.serving import Ends, Serving
from hookgate.channels.openai.settings import OpenAIParts, OpenAISettings
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenOpenAI:
    """`app` answers at `/v1`; `channel.hear` wants the events that `channel.observed` names."""

    channel: OpenAIChannel
    app: App


@asynccontextmanager
async def open_openai_api(settings: OpenAISettings, parts: OpenAIParts) -> AsyncGenerator[OpenOpenAI]:
    channel = OpenAIChannel(settings.name, parts.media)
    leaving, forgetting = Leaving(channel, parts), Forgetting(settings.name, parts)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(leaving.run)
        nursery.start_soon(forgetting.run)
        serving = Serving(settings, parts, channel, Ends(leaving, forgetting))
        yield OpenOpenAI(channel, OpenAIApi(settings, parts, serving).app)
        nursery.cancel_scope.cancel()
