"""What happens in chats, as numbered events that can be heard again: bounded for each chat, whoever listens.

Knows no journal: whoever comes too late for an event is told so, and reads what stands there instead.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Iterator
from itertools import count
from secrets import token_hex
from typing import Generic, TypeVar

import structlog
import trio

from hookgate.channels.web.running import Running
from hookgate.channels.web.shapes import Queued, ShownTool, ShownTrace
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import encode

T = TypeVar("T")
log = structlog.get_logger("hookgate.web")
MAX_EVENTS = 1000
MAX_BYTES = 1_000_000
"""Of events that a chat keeps for who comes back; a longer absence costs a snapshot."""
MAX_IDLE = 200
"""Chats that are kept while nobody listens and nothing runs, or a few more."""
MAX_TOLD = 20
"""Answers of a chat whose hooks are remembered."""


class Feed:
    """One chat. `numbers` are the gateway's: no event of an earlier feed of the chat has a later one's number."""

    def __init__(self, chat: Chat, numbers: Iterator[int]) -> None:
        self.chat = chat
        self.running: Running | None = None
        self.queued: dict[str, Queued] = {}
        self.arriving: set[str] = set()
        """Of `queued` what is not stored yet."""
        self.told: dict[str, tuple[tuple[ShownTool, ...], tuple[ShownTrace, ...]]] = {}
        self.listeners = 0
        self.cursor = next(numbers)
        self._lost = self._began = self.cursor
        self._numbers = numbers
        self._events: deque[tuple[int, bytes]] = deque()
        self._bytes = 0
        self._news = trio.Event()

    @property
    def writing(self) -> Running | None:
        """The answer that is being written, if one is."""
        return self.running if self.running is not None and not self.running.ended else None

    @property
    def idle(self) -> bool:
        return not (self.listeners or self.queued or self.writing)

    def publish(self, name: str, data: object) -> None:
        self.cursor = next(self._numbers)
        event = b"event: %s\ndata: %s\n\n" % (name.encode(), encode(data))
        self._events.append((self.cursor, event))
        self._bytes += len(event)
        while len(self._events) > MAX_EVENTS or (self._bytes > MAX_BYTES and len(self._events) > 1):
            self._lost, gone = self._events.popleft()
            self._bytes -= len(gone)
        self._news.set()
        self._news = trio.Event()

    def publish_state(self) -> None:
        """Whether a turn runs, and what waits for its own."""
        self.publish("state", {"running": self.writing is not None, "queued": list(self.queued.values())})

    def after(self, cursor: int) -> list[tuple[int, bytes]] | None:
        """What came since, oldest first; None: some of it is not known any more."""
        if not self._lost <= cursor <= self.cursor:
            return None
        found: list[tuple[int, bytes]] = []
        for number, event in reversed(self._events):
            if number <= cursor:
                break
            found.append((number, event))
        return found[::-1]

    async def news(self, cursor: int) -> None:
        """Until something has come after it."""
        while self.cursor <= cursor:
            await self._news.wait()

    def remember(self, running: Running) -> None:
        """What its tools did and what its hooks said stays beside the answer."""
        self.told[running.message] = tuple(running.tools.values()), tuple(running.trace)
        while len(self.told) > MAX_TOLD:
            del self.told[next(iter(self.told))]

    def begin(self) -> None:
        """A turn begins: events are kept from the one before on, so that a chat costs the same however long it is."""
        while self._events and self._events[0][0] <= self._began:
            self._lost, gone = self._events.popleft()
            self._bytes -= len(gone)
        self._began = self.cursor

    def rest(self) -> None:
        """Nobody listens: whoever comes gets a snapshot."""
        self._lost, self._bytes = self.cursor, 0
        self._events.clear()

    def forget(self) -> None:
        """What was said is gone: whoever listens gets a snapshot of what is left."""
        self.queued.clear()
        self.told.clear()
        self.lose()

    def lose(self) -> None:
        """What happens in it is not known any more: whoever listens gets a snapshot."""
        self.running = None
        self.cursor = next(self._numbers)
        self.rest()
        self._news.set()
        self._news = trio.Event()


class Due(Generic[T]):
    """What something is to be done for, each once."""

    def __init__(self) -> None:
        self._items: dict[T, None] = {}
        self._stirred = trio.Event()

    def add(self, item: T) -> None:
        self._items[item] = None
        self._stirred.set()

    async def stirs(self) -> None:
        """Until there are any."""
        await self._stirred.wait()

    def take(self) -> tuple[T, ...]:
        """All that have been added."""
        self._stirred = trio.Event()
        items, self._items = tuple(self._items), {}
        return items


async def run_for_each(due: Due[T], do: Callable[[T], Awaitable[None]], after_s: float = 0.0) -> None:
    """Each once, `after_s` after something was due; until cancelled."""
    while True:
        await due.stirs()
        await trio.sleep(after_s)
        for item in due.take():
            try:
                await do(item)
            except StoreFailed as error:
                # The page asks again by itself.
                log.warning("page_not_told", reason=str(error))


class Feeds:
    """Of one channel. An event's id is EPOCH-NUMBER, with an epoch for each run of the gateway."""

    def __init__(self) -> None:
        self.epoch = token_hex(4)
        self._numbers = count(1)
        self._feeds: dict[str, Feed] = {}
        self._uses = 0

    def known(self, session: str) -> Feed | None:
        return self._feeds.get(session)

    def of(self, chat: Chat) -> Feed:
        """Begun where there is none; the ones that nobody needs go, the longest unused first."""
        key = chat.session_key
        feed = self._feeds.pop(key, None) or Feed(chat, self._numbers)
        self._feeds[key] = feed
        self._uses += 1
        # So seldom that it costs each use next to nothing, however many chats are listened to.
        if len(self._feeds) > MAX_IDLE and self._uses > len(self._feeds) // 10:
            self._let_go(feed)
            self._uses = 0
        return feed

    def _let_go(self, kept: Feed) -> None:
        for key, feed in list(self._feeds.items())[: len(self._feeds) - MAX_IDLE]:
            if feed.idle and feed is not kept:
                del self._feeds[key]

    def forget(self, session: str) -> None:
        feed = self._feeds.get(session)
        if feed is not None and feed.listeners:
            feed.forget()
        elif feed is not None:
            del self._feeds[session]

    @property
    def listened(self) -> tuple[Feed, ...]:
        """Those that somebody has open."""
        return tuple(feed for feed in self._feeds.values() if feed.listeners)

    def id(self, cursor: int) -> str:
        return f"{self.epoch}-{cursor}"

    def cursor(self, id_: str) -> int:
        """Of an event's id; -1: not of this run."""
        epoch, _, number = id_.partition("-")
        return int(number) if epoch == self.epoch and number.isascii() and number.isdigit() else -1
