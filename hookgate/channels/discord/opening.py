"""A Discord channel, opened: who the bot is and what it may read, what people can type, and messages as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from dataclasses import field
from functools import partial

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route, open_api
from hookgate.channels.discord.channel import DiscordChannel
from hookgate.channels.discord.commands import tell_commands
from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.gateway import Beginning, Gateway
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.incoming.missed import Missed
from hookgate.channels.discord.incoming.place import Places, latest, read_place
from hookgate.channels.discord.incoming.reading import Reader
from hookgate.channels.discord.incoming.session import Identity
from hookgate.channels.discord.incoming.shards import Shard, ShardConnection, Turns, worst
from hookgate.channels.discord.outgoing.cards import DiscordCards
from hookgate.channels.discord.outgoing.messages import Messages
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.channels.discord.wire import Application, GatewayBot, User
from hookgate.channels.platforms.asking import ApprovalCards
from hookgate.channels.platforms.leases import Lease
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.platforms.reception import run_again
from hookgate.channels.platforms.typing import Typing
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.discord")

STATE = "session"
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
        asking = ApprovalCards(settings.name, DiscordCards(messages), parts)
        typing = Typing(settings.name, messages.show_typing, TYPING_S)
        receiving = _Receiving(settings, parts, api, connection, asking)
        for task in (asking.run, typing.run, receiving.run):
            nursery.start_soon(task)
        yield DiscordChannel(settings.name, messages, asking, typing, connection, parts.media)
        nursery.cancel_scope.cancel()


@dataclass(frozen=True)
class _Bot:
    me: User
    application: Application
    turns: Turns


@dataclass(frozen=True)
class _Receiving:
    settings: DiscordSettings
    parts: PlatformParts
    api: Api
    connection: Connection
    asking: ApprovalCards
    shards: dict[Shard, tuple[Connection, Lease]] = field(default_factory=dict[Shard, tuple[Connection, Lease]])

    async def run(self) -> None:
        await self.parts.ready()
        await run_again(self.connection, self._begin)

    async def _begin(self) -> None:
        me, application = await self._me()
        many = self.settings.shards or await self._recommended()
        async with trio.open_nursery() as nursery:
            turns = Turns(self.parts.journal.cluster, self.settings.name, nursery.start_soon)
            for number in range(many):
                nursery.start_soon(self._hold, _Bot(me, application, turns), Shard(number, many))

    async def _hold(self, bot: _Bot, shard: Shard) -> None:
        if shard not in self.shards:
            connection = self.connection
            if shard.many > 1:
                connection = ShardConnection(self.settings, shard, self._tell_worst)
            lease = Lease(self.parts.journal.cluster, shard.named(self.settings.name), connection)
            self.shards[shard] = connection, lease
        connection, lease = self.shards[shard]
        await lease.run(partial(self._receive, bot, shard, connection))

    def _tell_worst(self) -> None:
        self.connection.is_as(worst([connection.state for connection, _ in self.shards.values()]))

    async def _recommended(self) -> int:
        while True:
            try:
                return GatewayBot.model_validate(await self.api.call(Route("GET", "/gateway/bot"))).shards
            except ApiFailed as error:
                await trio.sleep(self.connection.failed(error))
            except ValidationError:
                await trio.sleep(self.connection.failed(ApiFailed(0, "it does not say how many shards it wants")))

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

    async def _receive(self, bot: _Bot, shard: Shard, connection: Connection) -> None:
        name, journal, me = self.settings.name, self.parts.journal, bot.me
        may_read = bool(bot.application.flags & MAY_READ)
        if not may_read:
            log.warning("message_content_off", channel=name, reason=CONTENT_OFF)
        state = shard.named(STATE)
        inbox = await self._inbox(me, shard, connection, state)
        missed = Missed(name, self.api, inbox, journal.chats)
        intents = GUILDS | GUILD_MESSAGES | DIRECT_MESSAGES | (MESSAGE_CONTENT if may_read else 0)
        beginning = Beginning(
            Identity(self.settings.token, intents, (shard.number, shard.many)),
            partial(bot.turns.take, shard.number),
            partial(journal.holds.keep_state, name, state),
        )
        gateway = Gateway(self.api, connection, inbox, missed, beginning)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(inbox.run)
            if not shard.number:
                nursery.start_soon(self._tell, bot.application.id)
            await gateway.run()

    async def _inbox(self, me: User, shard: Shard, connection: Connection, state: str) -> Inbox:
        """Which goes on where the last one of this shard has left off, in whichever gateway. Raises StoreFailed."""
        name, journal, server = self.settings.name, self.parts.journal, self.api.server
        stored = await journal.intake.offset(name, shard.named(me.id)), await journal.holds.state(name, state)
        places = Places(latest(*(read_place(it, server) for it in stored)))
        reader = Reader(name, me)
        stream = shard.named("").strip()
        return Inbox(reader, self.api, connection, self.parts, places, self.asking.press, stream)

    async def _tell(self, application: str) -> None:
        holds = self.parts.journal.holds
        with suppress(StoreFailed):
            await tell_commands(self.settings.name, self.api, application, self.parts.commands(), holds)
