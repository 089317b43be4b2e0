"""What happens in chats at other gateways, heard by the channels here as long as somebody listens there.

What is lost on the way is known by its number: the channel is told that it has missed something, and reads what
stands there in the journal.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable
from contextlib import AbstractContextManager, contextmanager
from math import inf
from typing import Protocol

import structlog
import trio

from hookgate.channels.live.items import Item, Sent, Streamed, begins, ends, unpacked
from hookgate.channels.live.telling import RENEW_S
from hookgate.protocol.events.event import Event
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.cluster import CHANGED, LIVE, WATCH, Cluster, Note

log = structlog.get_logger("hookgate.live")


class Listener(Channel, Protocol):
    """A channel whose people are connected to this very gateway. `watching` is entered with the session key while
    somebody listens there."""

    watching: Callable[[str], AbstractContextManager[None]]

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of the events that `hear` wants."""
        ...

    def hear(self, event: Event) -> None: ...

    def missed(self, session: str) -> None:
        """What happens in the turn that runs there is not known any more: the journal has what it comes to."""
        ...


class Listening:
    def __init__(self, cluster: Cluster, channels: Iterable[Listener]) -> None:
        self._cluster, self._channels = cluster, {it.name: it for it in channels}
        self._listeners = Counter[str]()
        self._next: dict[tuple[str, str], int] = {}
        """By session and gateway, the number of the note that comes next."""
        self._running: dict[str, str] = {}
        """By session, the gateway whose turn the channel was told of."""
        # Bounded by what is told while one message is read from the journal.
        self._came, self._inbox = trio.open_memory_channel[Item | str](inf)
        """A session: something was missed there."""
        cluster.hear(LIVE, self._hear)
        cluster.hear(CHANGED, lambda _note: self._miss_gone())
        for channel in self._channels.values():
            channel.watching = self.watching

    @contextmanager
    def watching(self, session: str) -> Generator[None]:
        self._listeners[session] += 1
        if self._listeners[session] == 1:
            self._say(session, "comes")
        try:
            yield
        finally:
            self._listeners[session] -= 1
            if not self._listeners[session]:
                del self._listeners[session]
                self._say(session, "leaves")
                self._drop(session)

    def end(self, session: str) -> None:
        """Nothing more is heard of another gateway's turn there."""
        if self._running.pop(session, None) is not None:
            self._tell_missed(session)

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._renew)
            async for item in self._inbox:
                try:
                    await self._do(item)
                except Exception:
                    log.exception("not_shown")

    async def _renew(self) -> None:
        while True:
            await trio.sleep(RENEW_S)
            for session in self._listeners:
                self._say(session, "stays")

    def _say(self, session: str, how: str) -> None:
        self._cluster.tell(Note(WATCH, session, {"by": self._cluster.me, "how": how}))

    # --- hearing ------------------------------------------------------------------------------------------------

    def _hear(self, note: Note) -> None:
        try:
            by, at, items = note.body["by"], note.body.get("at", ""), unpacked(note.body["items"])
        except (ValueError, KeyError, TypeError) as error:
            log.warning("note_not_understood", reason=str(error))
            return
        if not at:
            self._take(items)
        elif self._listeners[note.session]:
            self._follow(note.session, by, int(at), items)

    def _follow(self, session: str, by: str, at: int, items: list[Item]) -> None:
        key = session, by
        if items and at == 0:
            # From the beginning, so whatever was heard before is void.
            if self._running.pop(session, None) is not None:
                self._came.send_nowait(session)
        elif at != self._next.get(key):
            self._running.pop(session, None)
            self._next.pop(key, None)
            self._came.send_nowait(session)
            self._say(session, "comes")
            return
        self._next[key] = at + bool(items)
        for item in items:
            if begins(item):
                self._running[session] = by
            elif ends(item):
                self._running.pop(session, None)
        self._take(items)

    def _take(self, items: list[Item]) -> None:
        for item in items:
            self._came.send_nowait(item)

    def _miss_gone(self) -> None:
        """What a gateway that is gone did not tell stands in the journal, or another one goes on with it."""
        living = {it.id for it in self._cluster.members}
        for session, by in [key for key in self._next if key[1] not in living]:
            del self._next[session, by]
            if self._running.get(session, by) == by:
                self._running.pop(session, None)
                self._came.send_nowait(session)

    def _drop(self, session: str) -> None:
        """Nobody listens any more."""
        self.end(session)
        for key in [it for it in self._next if it[0] == session]:
            del self._next[key]

    def _tell_missed(self, session: str) -> None:
        if (channel := self._channels.get(session.partition(":")[0])) is not None:
            channel.missed(session)

    async def _do(self, item: Item | str) -> None:
        match item:
            case str():
                self._tell_missed(item)
            case Event():
                for channel in self._channels.values():
                    if item.kind in channel.observed:
                        channel.hear(item)
            case Sent():
                if (channel := self._channels.get(item.outbound.chat.channel)) is not None:
                    await channel.send(item.outbound, item.key)
            case Streamed():
                if (channel := self._channels.get(item.chat.channel)) is not None:
                    _stream(channel, item)


def _stream(channel: Channel, item: Streamed) -> None:
    match item.what:
        case "piece":
            channel.stream(item.chat, item.text)
        case "ended":
            channel.end_stream(item.chat)
        case "void":
            channel.restart_stream(item.chat)
