"""A Slack channel, opened: who the bot is, and events as they come."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.platforms.asking import ApprovalCards
from hookgate.channels.platforms.leases import Lease
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.platforms.reception import run_again
from hookgate.channels.platforms.typing import Typing
from hookgate.channels.slack.api import Api, ApiFailed, open_api
from hookgate.channels.slack.channel import Outgoing, SlackChannel
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming.catching_up import CatchingUp
from hookgate.channels.slack.incoming.events import Reader
from hookgate.channels.slack.incoming.inbox import Inbox
from hookgate.channels.slack.incoming.place import StreamPosition
from hookgate.channels.slack.incoming.socket_mode import SocketMode
from hookgate.channels.slack.incoming.webhook import Webhook
from hookgate.channels.slack.outgoing.cards import SlackCards
from hookgate.channels.slack.outgoing.messages import Messages
from hookgate.channels.slack.outgoing.streams import Streams
from hookgate.channels.slack.scopes import SCOPES
from hookgate.channels.slack.settings import SlackSettings
from hookgate.channels.slack.threads import Threads
from hookgate.channels.slack.wire import Me
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.slack")

AT_WORK_S = 90.0
"""The platform shows it for two minutes, or until something is said."""
LOOK_S = 60.0
"""Whether the bot's token is one still: events come without it too."""


@dataclass(frozen=True, slots=True)
class OpenSlack:
    """`webhook` answers the platform's requests; None: events come by a socket."""

    channel: SlackChannel
    webhook: Webhook | None


@asynccontextmanager
async def open_slack(settings: SlackSettings, parts: PlatformParts) -> AsyncGenerator[OpenSlack]:
    """Raises StoreFailed. Whatever the platform says, the channel is there, and says how it is."""
    connection, threads = Connection(settings), Threads(settings.name, parts.journal)
    async with open_api(settings.api_url, settings.token) as api, trio.open_nursery() as nursery:
        messages, streams = Messages(api), Streams(settings.name, api)
        asking = ApprovalCards(settings.name, SlackCards(messages), parts)
        await threads.load()
        webhook = Webhook(connection, settings.other) if settings.mode == "webhook" else None
        typing = Typing(settings.name, messages.show_at_work, AT_WORK_S)
        for task in (asking.run, typing.run):
            nursery.start_soon(task)
        lease = Lease(parts.journal.cluster, settings.name, connection, shared=webhook is not None)
        receiving = _Receiving(settings, parts, api, connection, webhook, streams, lease)
        nursery.start_soon(receiving.run, asking, threads)
        channel = SlackChannel(settings.name, Outgoing(messages, streams), asking, typing, connection, parts.media)
        yield OpenSlack(channel, webhook)
        nursery.cancel_scope.cancel()


@dataclass(frozen=True)
class _Receiving:
    settings: SlackSettings
    parts: PlatformParts
    api: Api
    connection: Connection
    webhook: Webhook | None
    streams: Streams
    lease: Lease

    async def run(self, asking: ApprovalCards, threads: Threads) -> None:
        await self.parts.ready()
        await run_again(self.connection, partial(self._begin, asking, threads))

    async def _begin(self, asking: ApprovalCards, threads: Threads) -> None:
        me = await self._me()
        self.streams.team = me.team_id
        if self.api.scopes is not None and (missing := sorted(SCOPES - self.api.scopes)):
            log.warning("scopes_missing", channel=self.settings.name, scopes=missing)
        reader = Reader(self.settings.name, me, self.settings.hears_bots)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._look)
            if self.webhook is None:
                await self.lease.run(partial(self._receive, reader, asking, threads))
            else:
                inbox = await self._inbox(reader, asking, threads)
                nursery.start_soon(self.webhook.run, inbox)
                await self.lease.run(partial(self._catch_up, inbox))

    async def _me(self) -> Me:
        while True:
            try:
                return await self._asked()
            except ApiFailed as error:
                await trio.sleep(self.connection.failed(error))

    async def _asked(self) -> Me:
        """Raises ApiFailed."""
        try:
            return Me.model_validate(await self.api.call("auth.test"))
        except ValidationError:
            raise ApiFailed("", "it does not say who the bot is") from None

    async def _inbox(self, reader: Reader, asking: ApprovalCards, threads: Threads) -> Inbox:
        """Which goes on where the last one has left off, in whichever gateway. Raises StoreFailed."""
        place = await self.parts.journal.intake.offset(self.settings.name, reader.me.user_id)
        return Inbox(reader, self.api, self.parts, threads, asking.press, StreamPosition(place))

    async def _receive(self, reader: Reader, asking: ApprovalCards, threads: Threads) -> None:
        """One gateway has the sockets: with several, events would come to either, and the place that is stored could
        be before or behind what the other one has still in hand."""
        inbox = await self._inbox(reader, asking, threads)
        catching_up = CatchingUp(self.api, inbox)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(catching_up.run)
            nursery.start_soon(SocketMode(self.api, self.settings.other, inbox, self.connection, catching_up).run)

    async def _catch_up(self, inbox: Inbox) -> None:
        catching_up = CatchingUp(self.api, inbox)
        catching_up.want()
        await catching_up.run()

    async def _look(self) -> None:
        """Whether the bot may act still, now and then, and whenever somebody was told that it may not."""
        wait_s = LOOK_S
        while True:
            turned = trio.Event()
            self.api.revoked = turned.set
            with trio.move_on_after(wait_s):
                await turned.wait()
            try:
                await self._asked()
            except ApiFailed as error:
                wait_s = self.connection.failed(error)
            else:
                wait_s = LOOK_S
                self.connection.may_act()
