"""A Telegram channel, opened: who the bot is, what people can type, and updates as they come."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from functools import partial
from secrets import token_urlsafe

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.platforms.asking import ApprovalCards
from hookgate.channels.platforms.leases import Lease
from hookgate.channels.platforms.parts import PlatformParts
from hookgate.channels.platforms.reception import run_again
from hookgate.channels.platforms.typing import Typing
from hookgate.channels.telegram.api import Api, ApiFailed, open_api
from hookgate.channels.telegram.channel import TelegramChannel
from hookgate.channels.telegram.connection import Connection
from hookgate.channels.telegram.incoming.inbox import Inbox
from hookgate.channels.telegram.incoming.polling import Polling
from hookgate.channels.telegram.incoming.updates import Reader
from hookgate.channels.telegram.incoming.webhook import Webhook
from hookgate.channels.telegram.moves import Moves
from hookgate.channels.telegram.outgoing.cards import TelegramCards
from hookgate.channels.telegram.outgoing.messages import Messages
from hookgate.channels.telegram.settings import TelegramSettings
from hookgate.channels.telegram.wire import Me
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.telegram")

SECRET = "webhook secret"  # noqa: S105 - where it is kept
PRIVACY = (
    'group = "all" hears what mentions the bot alone: its privacy mode is on (@BotFather, /setprivacy); then take it '
    "out of its groups and put it in again"
)
_COMMAND = re.compile(r"[a-z0-9_]{1,32}")
MAX_COMMANDS, MAX_HELP = 100, 256
TYPING_S = 4.5
"""The platform shows it for five seconds."""


@dataclass(frozen=True, slots=True)
class OpenTelegram:
    """`webhook` answers the platform's requests; None: it is asked for updates."""

    channel: TelegramChannel
    webhook: Webhook | None


@asynccontextmanager
async def open_telegram(settings: TelegramSettings, parts: PlatformParts) -> AsyncGenerator[OpenTelegram]:
    """Raises StoreFailed. Whatever the platform says, the channel is there, and says how it is."""
    connection = Connection(settings)
    moves = Moves(settings.name, parts.journal)
    async with open_api(settings.api_url, settings.token) as api, trio.open_nursery() as nursery:
        messages = Messages(api, moves)
        typing = Typing(settings.name, messages.show_typing, TYPING_S)
        asking = ApprovalCards(settings.name, TelegramCards(api, messages), parts)
        await moves.load()
        webhook = await _webhook(settings, parts, api, connection)
        lease = Lease(parts.journal.cluster, settings.name, connection, shared=webhook is not None)
        receiving = _Receiving(settings, parts, api, connection, webhook, lease)
        for task in (asking.run, typing.run):
            nursery.start_soon(task)
        nursery.start_soon(receiving.run, asking, moves)
        channel = TelegramChannel(settings.name, messages, asking, typing, connection, parts.media)
        yield OpenTelegram(channel, webhook)
        nursery.cancel_scope.cancel()


async def _webhook(
    settings: TelegramSettings, parts: PlatformParts, api: Api, connection: Connection
) -> Webhook | None:
    if settings.mode != "webhook":
        return None
    made = token_urlsafe(32)
    secret = await parts.journal.holds.change_state(settings.name, SECRET, lambda known: known or made)
    return Webhook(api, connection, f"{settings.origin}{settings.path}", secret)


@dataclass(frozen=True)
class _Receiving:
    settings: TelegramSettings
    parts: PlatformParts
    api: Api
    connection: Connection
    webhook: Webhook | None
    lease: Lease

    async def run(self, asking: ApprovalCards, moves: Moves) -> None:
        await self.parts.ready()
        await run_again(self.connection, partial(self._begin, asking, moves))

    async def _begin(self, asking: ApprovalCards, moves: Moves) -> None:
        me = await self._me()
        receive = partial(self._poll, me, asking, moves)
        if self.webhook is not None:
            self.webhook.inbox = self._inbox(me, asking, moves)
            receive = self.webhook.run
        await self.lease.run(partial(self._hold, receive))

    async def _me(self) -> Me:
        while True:
            try:
                me = Me.model_validate(await self.api.call("getMe", {}))
            except ApiFailed as error:
                await trio.sleep(self.connection.failed(error))
            except ValidationError:
                await trio.sleep(self.connection.failed(ApiFailed(0, "it does not say who the bot is")))
            else:
                self.connection.bot = me.username
                if self.settings.hears_all and not me.can_read_all_group_messages:
                    log.warning("privacy_mode", channel=self.settings.name, reason=PRIVACY)
                return me

    async def _tell_commands(self, commands: Sequence[tuple[str, str]]) -> None:
        """What clients offer when somebody types a slash; without it people can type them all the same."""
        rows = [
            {"command": name, "description": text[:MAX_HELP]} for name, text in commands if _COMMAND.fullmatch(name)
        ]
        try:
            await self.api.call("setMyCommands", {"commands": rows[:MAX_COMMANDS]})
        except ApiFailed as error:
            log.warning("commands_not_told", channel=self.settings.name, reason=error.why)

    async def _hold(self, receive: Callable[[], Awaitable[None]]) -> None:
        """What is done once for the bot, by whichever gateway has it."""
        await self._tell_commands(self.parts.commands())
        await receive()

    def _inbox(self, me: Me, asking: ApprovalCards, moves: Moves) -> Inbox:
        return Inbox(Reader(self.settings.name, me), self.api, self.parts, moves, asking.press)

    async def _poll(self, me: Me, asking: ApprovalCards, moves: Moves) -> None:
        inbox = self._inbox(me, asking, moves)
        place = await self.parts.journal.intake.offset(self.settings.name, inbox.account)
        await Polling(self.api, inbox, self.connection, place).run()
