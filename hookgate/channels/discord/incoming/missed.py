"""What was said while nobody listened: asked for chat by chat, oldest first, where a session cannot be resumed."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from itertools import count
from typing import TypeVar, cast
from urllib.parse import unquote

import structlog
import trio
from pydantic import ValidationError

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.channels.discord.incoming.inbox import Inbox
from hookgate.channels.discord.incoming.reading import thread_parent
from hookgate.channels.discord.wire import Message, Named
from hookgate.channels.platforms.message import problems
from hookgate.processes.backoff import backoff_s
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.views import Chats

T = TypeVar("T")
log = structlog.get_logger("hookgate.discord")

PAGE = 100
MOST_CHATS = 200
"""Those that were used last."""
TRIES, FIRST_S, LONGEST_S = 6, 1.0, 60.0
AGAIN_S = 300.0
"""At most between two tries of what all of these did not fetch."""


@dataclass(frozen=True, slots=True)
class _Page:
    """In order, what can be read of it. `last`: the id of the last message on it, readable or not."""

    messages: Sequence[Message]
    last: int
    is_full: bool


class Missed:
    """Until it is fetched, the place that is stored stays before it; what comes now waits for the first try."""

    def __init__(self, channel: str, api: Api, inbox: Inbox, chats: Chats) -> None:
        self._channel, self._api, self._inbox, self._chats = channel, api, inbox, chats
        self._turn = trio.Lock()
        self._runs = 0
        self._awaited = set[str]()

    def begin(self, since: int) -> None:
        """All after this message."""
        if self._inbox.caught_up.is_set():
            self._inbox.caught_up = trio.Event()
        self._runs += 1
        key = f"missed {self._runs} {since}"
        self._awaited.add(key)
        self._inbox.places.hold(key, since + 1)
        self._inbox.beside(partial(self._run, key, since))

    async def _run(self, key: str, since: int) -> None:
        """Until all of it is fetched: what is not stays held, for the next start too."""
        left: Mapping[str, int] | None = None
        for tries in count(1):
            try:
                async with self._turn:
                    left = await self._fetch(await self._rooms(since) if left is None else left)
            except StoreFailed as error:
                log.warning("missed_not_fetched", channel=self._channel, reason=str(error))
            except Exception:
                log.exception("missed_not_fetched", channel=self._channel)
            if left is not None and not left:
                break
            self._go_on(key)
            await trio.sleep(backoff_s(tries, FIRST_S, AGAIN_S))
        self._inbox.places.done(key)
        self._go_on(key)

    def _go_on(self, key: str) -> None:
        self._awaited.discard(key)
        if not self._awaited:
            self._inbox.caught_up.set()

    async def _rooms(self, since: int) -> Mapping[str, int]:
        """Each with the message after which some are missed. Raises StoreFailed."""
        rows = await self._chats.listed(f"{self._channel}:", most=MOST_CHATS)
        # A thread is a channel of its own.
        rooms = (unquote(it.conversation.session.split(":")[-1]) for it in rows)
        return {room: since for room in rooms if room.isdecimal()}

    async def _fetch(self, rooms: Mapping[str, int]) -> Mapping[str, int]:
        """What is left of it."""
        left, limit = dict(rooms), trio.CapacityLimiter(4)
        async with trio.open_nursery() as nursery:
            for room in rooms:
                nursery.start_soon(self._fetch_room, room, left, limit)
        return left

    async def _fetch_room(self, id_: str, left: dict[str, int], limit: trio.CapacityLimiter) -> None:
        """In order; never more than a page of it is held."""
        async with limit:
            try:
                is_full = True
                while is_full:
                    page = await self._tried(partial(self._page, id_, left[id_]))
                    await self._hear(id_, page.messages)
                    is_full = page.is_full and page.last > left[id_]
                    left[id_] = max(page.last, left[id_])
                del left[id_]
            except ApiFailed as error:
                # Where the bot may not look any more nothing is for it.
                say = log.info if error.is_final else log.warning
                say("missed_not_fetched", channel=self._channel, chat=id_, reason=error.why)
                if error.is_final:
                    del left[id_]

    async def _hear(self, id_: str, messages: Sequence[Message]) -> None:
        """Raises ApiFailed where it is not known whose rules count there."""
        if not messages:
            return
        room = await self._tried(partial(self._inbox.rooms.get, id_))
        for message in messages:
            known = message.model_copy(update={"guild_id": room.guild_id})
            await self._inbox.deal_with(partial(self._inbox.hear, known, thread_parent(room)))

    async def _page(self, id_: str, since: int) -> _Page:
        """The oldest after this one; what cannot be read is left out. Raises ApiFailed."""
        route = Route("GET", "/channels/{}/messages", (id_,))
        found = await self._api.call(route, query=f"?after={since}&limit={PAGE}")
        if not isinstance(found, list):
            raise ApiFailed(0, "it answered with no messages")
        rows, messages, last = cast("list[object]", found), list[Message](), since
        for raw in rows:
            try:
                last = max(last, int(Named.model_validate(raw).id))
                messages.append(Message.model_validate(raw))
            except ValidationError as error:
                log.warning("message_skipped", channel=self._channel, reason=problems(error))
        return _Page(sorted(messages, key=lambda it: int(it.id)), last, len(rows) >= PAGE)

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
