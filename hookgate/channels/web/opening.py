"""A web channel, opened: its logins of earlier runs, the task that renders what streams, its application."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from hookgate.channels.http.server import App
from hookgate.channels.web.access.logins import Logins
from hookgate.channels.web.api.app import make_app
from hookgate.channels.web.api.door import Door
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.settings import WebParts, WebSettings
from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class OpenWeb:
    """`app` is for `serve_http`; `channel.hear` wants the events that `channel.observed` names. `door`: who is logged
    in, for what else answers there."""

    channel: WebChannel
    app: App
    door: Door


@asynccontextmanager
async def open_web(settings: WebSettings, parts: WebParts) -> AsyncGenerator[OpenWeb]:
    """Raises StoreFailed where logins cannot be read."""
    logins = Logins(settings, parts.journal)
    await logins.load()
    channel = WebChannel(settings, parts)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(channel.run)
        door = Door(settings, parts, logins)
        yield OpenWeb(channel, make_app(channel, settings, parts, door), door)
        nursery.cancel_scope.cancel()
