"""The way in: connections to Discord's gateway one after the other, gone on with where that is possible.

Never gives up; what only a person mends is tried seldom.
"""

from __future__ import annotations

import random
from collections.abc import Awaitable, Callable

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.incoming.missed import Missed
from hookgate.channels.discord.incoming.session import Identity, Session, SessionEnded
from hookgate.channels.discord.wire import GatewayBot
from hookgate.channels.platforms.sockets import NO_CODE, SocketClosed, open_socket
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass

log = structlog.get_logger("hookgate.discord")

LEAVING = 4000
"""With 1000 or 1001 the session would be over; with any other code it waits for a few minutes."""
OVER = (4003, 4007, 4009)
"""Codes after which a session is none any more."""
MAX_RESUMES = 3
"""Connections to the address that a session has for that; after so many failures it is the common one."""
KEEP_S = 2.0


@dataclass(frozen=True)
class Beginning:
    """What a new session needs: who the bot says it is, its `turn` to begin one, given how many may begin at once,
    and `keep`, where its place is stored. These raise StoreFailed."""

    identity: Identity
    turn: Callable[[int], Awaitable[None]]
    keep: Callable[[str], Awaitable[object]]


class Gateway:
    def __init__(self, api: Api, connection: Connection, inbox: Inbox, missed: Missed, beginning: Beginning) -> None:
        self._api, self._connection = api, connection
        self._inbox, self._missed, self._beginning = inbox, missed, beginning
        self._channel = connection.channel
        self._failed_resumes = 0

    async def run(self) -> None:
        """Until cancelled."""
        try:
            while True:
                wait_s = await self._stay()
                await trio.sleep(wait_s)
        finally:
            with trio.move_on_after(KEEP_S, shield=True):
                await self._keep()

    async def _stay(self) -> float:
        """For one connection; the seconds until the next."""
        try:
            url = await self._address()
            async with open_socket(f"{url.rstrip('/')}/?v=10&encoding=json", LEAVING) as socket:
                await Session(socket, self._inbox, self._connection, self._begun).run(self._beginning.identity)
            raise SocketClosed("it ended")
        except SessionEnded as ended:
            log.info("session_ended", channel=self._channel, reason=ended.why, resumable=ended.resumable)
            if ended.resumable:
                return random.uniform(0.1, 1.0)  # noqa: S311 - jitter, no secret
            self._inbox.places.end()
            return random.uniform(1.0, 3.0) + self._connection.closed(ended)  # noqa: S311 - jitter, no secret
        except SocketClosed as closed:
            self._failed_resumes += closed.code == NO_CODE
            if closed.code in OVER:
                self._inbox.places.end()
            return self._connection.closed(closed)
        except _NoMoreSessions as spent:
            return self._connection.spent(spent.wait_s)
        except ApiFailed as error:
            return self._connection.failed(error)
        except StoreFailed as error:
            return self._connection.unstored(str(error))

    async def _address(self) -> str:
        """Raises ApiFailed, StoreFailed and _NoMoreSessions."""
        at = self._inbox.places.session
        if at.session and self._failed_resumes < MAX_RESUMES:
            return at.url
        try:
            found = GatewayBot.model_validate(await self._api.call(Route("GET", "/gateway/bot")))
        except ValidationError:
            raise ApiFailed(0, "it does not say where its gateway is") from None
        if not at.session:
            starts = found.session_start_limit
            if starts.remaining <= 0:
                raise _NoMoreSessions(max(starts.reset_after / 1000, 60.0))
            await self._beginning.turn(starts.max_concurrency)
        return found.url

    async def _begun(self, is_new: bool) -> None:
        self._failed_resumes = 0
        if not is_new:
            return
        if since := self._inbox.places.now.last:
            self._missed.begin(since)
        await self._keep()

    async def _keep(self) -> None:
        try:
            await self._beginning.keep(self._inbox.places.now.text)
        except StoreFailed as error:
            log.info("session_not_kept", channel=self._channel, reason=str(error))


class _NoMoreSessions(Exception):
    def __init__(self, wait_s: float) -> None:
        super().__init__(wait_s)
        self.wait_s = wait_s
