"""A Discord channel, opened: who the bot is and what it may read, what people can type, and messages as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route, open_api
from hookgate.channels.discord.channel import DiscordChannel
from hookgate.channels.discord.commands import tell_commands
from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.gateway import STATE, Gateway
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.incoming.missed import Missed
from hookgate.channels.discord.incoming.place import Places, latest, read_place
from hookgate.channels.discord.incoming.reading import Reader
from hookgate.channels.discord.outgoing.cards import DiscordCards
from hookgate.channels.discord.outgoing.messages import Messages
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.channels.discord.wire import Application, User
from hookgate.channels.platforms.asking import Asking
from hookgate.channels.platforms.leases import Lease
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.platforms.reception import run_again
from hookgate.channels.platforms.typing import Typing
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.discord")

GUILDS, GUILD_MESSAGES, DIRECT_MESSAGES, MESSAGE_CONTENT = 1 << 0, 1 << 9, 1 << 12, 1 << 15
MAY_READ = 1 << 18 | 1 << 19
"""Flags of an application that has the intent MESSAGE_CONTENT, whether it was verified or is small."""
CONTENT_OFF = (
    "the intent MESSAGE_CONTENT is off: in servers the bot can read what mentions it alone, not what answers it, nor "
    "what that answers"
)
TYPING_S = 8.0
"""The platform shows it for ten seconds."""


@asynccontextmanager
async def open_discord(settings: DiscordSettings, parts: PlatformParts) -> AsyncGenerator[DiscordChannel]:
    """Raises StoreFailed. Whatever the platform says, the channel is there, and says how it is."""
    connection = Connection(settings)
    async with open_api(settings.api_url, settings.token) as api, trio.open_nursery() as nursery:
        messages = Messages(api)
        asking = Asking(settings.name, DiscordCards(messages), parts)
        typing = Typing(settings.name, messages.show_typing, TYPING_S)
        lease = Lease(parts.journal.cluster, settings.name, connection)
        for task in (asking.run, typing.run, _Receiving(settings, parts, api, connection, asking, lease).run):
            nursery.start_soon(task)
        yield DiscordChannel(settings.name, messages, asking, typing, connection, parts.media)
        nursery.cancel_scope.cancel()


@dataclass(frozen=True)
class _Receiving:
    settings: DiscordSettings
    parts: PlatformParts
    api: Api
    connection: Connection
    asking: Asking
    lease: Lease

    async def run(self) -> None:
        await self.parts.ready()
        await run_again(self.connection, self._begin)

    async def _begin(self) -> None:
        await self.lease.run(partial(self._receive, *await self._me()))

    async def _me(self) -> tuple[User, Application]:
        while True:
            try:
                me = User.model_validate(await self.api.call(Route("GET", "/users/@me")))
                application = Application.model_validate(await self.api.call(Route("GET", "/applications/@me")))
            except ApiFailed as error:
                await trio.sleep(self.connection.failed(error))
            except ValidationError:
                await trio.sleep(self.connection.failed(ApiFailed(0, "it does not say who the bot is")))
            else:
                self.connection.bot = me.name
                if application.flags & MAY_READ or not self.settings.hears_all:
                    return me, application
                # Not even asked for: sessions are counted.
                await trio.sleep(self.connection.intent_off())

    async def _receive(self, me: User, application: Application) -> None:
        name, journal, server = self.settings.name, self.parts.journal, self.api.server
        if not application.flags & MAY_READ:
            log.warning("message_content_off", channel=name, reason=CONTENT_OFF)
        stored = await journal.intake.offset(name, me.id), await journal.holds.state(name, STATE)
        places = Places(latest(*(read_place(it, server) for it in stored)))
        inbox = Inbox(Reader(name, me), self.api, self.connection, self.parts, places, self.asking.press)
        missed = Missed(name, self.api, inbox, journal.chats)
        gateway = Gateway(name, self.api, self.connection, inbox, missed, journal.holds)
        intents = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inbox.run)
            nursery.start_soon(self._tell, application.id)
            await gateway.run(self.settings.token, intents | (MESSAGE_CONTENT if application.flags & MAY_READ else 0))

    async def _tell(self, application: str) -> None:
        holds = self.parts.journal.holds
        with suppress(StoreFailed):
            await tell_commands(self.settings.name, self.api, application, self.parts.commands(), holds)
