"""What was said while nobody listened: asked for chat by chat, oldest first, where a session cannot be resumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar, cast
from urllib.parse import unquote

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.incoming.reading import thread_parent
from hookgate.channels.discord.wire import Message
from hookgate.channels.platforms.said import problems
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.journal.views import Chats

T = TypeVar("T")
log = structlog.get_logger("hookgate.discord")

PAGE = 100
MOST_CHATS = 200
"""Those that were used last."""
TRIES, FIRST_S, LONGEST_S = 6, 1.0, 60.0


class Missed:
    """Until it is fetched, what comes now waits, and the place that is stored stays before it."""

    def __init__(self, channel: str, api: Api, inbox: Inbox, chats: Chats) -> None:
        self._channel, self._api, self._inbox, self._chats = channel, api, inbox, chats
        self._turn = trio.Lock()
        self._runs = 0

    def begin(self, since: int) -> None:
        """All after this message."""
        if self._inbox.caught_up.is_set():
            self._inbox.caught_up = trio.Event()
        self._runs += 1
        key = f"missed {self._runs} {since}"
        self._inbox.places.hold(key, since + 1)

        async def work() -> None:
            try:
                async with self._turn:
                    await self._fetch(since)
            except Exception:
                log.exception("missed_not_fetched", channel=self._channel)
            finally:
                self._inbox.places.done(key)
                self._runs -= 1
                if not self._runs:
                    self._inbox.caught_up.set()

        self._inbox.beside(work)

    async def _fetch(self, since: int) -> None:
        rows = await self._chats.listed(f"{self._channel}:", most=MOST_CHATS)
        keys = dict.fromkeys(it.conversation.session for it in rows)
        # A thread is a channel of its own.
        rooms = [unquote(key.split(":")[-1]) for key in keys]
        limit = trio.CapacityLimiter(4)
        async with trio.open_nursery() as nursery:
            for room in rooms:
                if room.isdecimal():
                    nursery.start_soon(self._fetch_room, room, since, limit)

    async def _fetch_room(self, id_: str, since: int, limit: trio.CapacityLimiter) -> None:
        """In order; never more than a page of it is held."""
        async with limit:
            try:
                while messages := await self._tried(partial(self._page, id_, since)):
                    room = await self._tried(partial(self._inbox.rooms.get, id_))
                    for message in messages:
                        known = message.model_copy(update={"guild_id": room.guild_id})
                        await self._inbox.deal_with(partial(self._inbox.hear, known, thread_parent(room)))
                        since = int(message.id)
                    if len(messages) < PAGE:
                        return
            except ApiFailed as error:
                # Where the bot may not look any more nothing is for it.
                say = log.info if error.is_final else log.warning
                say("missed_not_fetched", channel=self._channel, chat=id_, reason=error.why)

    async def _page(self, id_: str, since: int) -> list[Message]:
        """The oldest after this one, in order; what cannot be read is left out. Raises ApiFailed."""
        route = Route("GET", "/channels/{}/messages", (id_,))
        found = await self._api.call(route, query=f"?after={since}&limit={PAGE}")
        messages = list[Message]()
        for raw in cast("list[object]", found) if isinstance(found, list) else ():
            try:
                messages.append(Message.model_validate(raw))
            except ValidationError as error:
                log.warning("message_skipped", channel=self._channel, reason=problems(error))
        return sorted(messages, key=lambda it: int(it.id))

    async def _tried(self, call: Callable[[], Awaitable[T]]) -> T:
        """Raises ApiFailed where trying again is of no use, or was of none."""
        for tries in range(1, TRIES):
            try:
                return await call()
            except ApiFailed as error:
                if error.is_final or error.is_revoked:
                    raise
                await trio.sleep(max(backoff_s(tries, FIRST_S, LONGEST_S), error.retry_after_s or 0))
        return await call()
