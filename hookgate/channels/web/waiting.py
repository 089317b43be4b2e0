"""Messages that wait for their turn, as the pages of their chats show them: from when one comes until it has begun,
was refused, or is part of another one's turn."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator

import trio

from hookgate.channels.web import past
from hookgate.channels.web.feeds import Due, Feed, Feeds, run_for_each
from hookgate.channels.web.settings import WebParts
from hookgate.channels.web.shapes import Queued
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Accepted, Conversation
from hookgate.protocol.journal.views import Exchange

MOMENT_S = 0.05
"""What waits no longer than that is not shown as waiting."""


class Waiting:
    """`conversation`: the one that goes on in a chat."""

    def __init__(
        self, feeds: Feeds, parts: WebParts, conversation: Callable[[Chat], Awaitable[Conversation]]
    ) -> None:
        self._feeds, self._parts, self._conversation = feeds, parts, conversation
        self._come, self._dealt_with = Due[Feed](), Due[Feed]()

    async def run(self) -> None:
        """Shows what has changed; until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_for_each, self._come, self._show, MOMENT_S)
            nursery.start_soon(run_for_each, self._dealt_with, self.recount)

    async def receive(self, inbound: Inbound) -> Accepted:
        """Shown as waiting while it does, but for a moment that nobody would see. Raises StoreFailed."""
        feed, id_ = self._feeds.of(inbound.chat), inbound.message_id
        if id_ in feed.queued:
            # Sent once more: what waits is the first.
            return await self._parts.receive(inbound)
        feed.queued[id_] = Queued(id_, inbound.text)
        feed.arriving.add(id_)
        self._come.add(feed)
        waits = False
        try:
            accepted = await self._parts.receive(inbound)
            waits = not (accepted.known or inbound.text.startswith("/"))
            return accepted
        finally:
            feed.arriving.discard(id_)
            if not waits:
                feed.queued.pop(id_, None)
                feed.publish_state()

    def look_at(self, feed: Feed) -> None:
        """Soon: some of what waits there may do so no more."""
        self._dealt_with.add(feed)

    async def recount(self, feed: Feed) -> None:
        """What was refused, taken into a turn or dropped does not wait any more."""
        stored = feed.queued.keys() - feed.arriving
        if not stored:
            return
        exchanges = await self._parts.journal.chats.said(await self._conversation(feed.chat))
        gone = (stored - {it.id for it in queued(exchanges)}) & feed.queued.keys()
        for id_ in gone:
            del feed.queued[id_]
        for shown in past.asked(it for it in exchanges if it.inbound is not None and it.inbound.message_id in gone):
            feed.publish("message", shown)
        if gone:
            feed.publish_state()

    async def _show(self, feed: Feed) -> None:
        if feed.queued:
            feed.publish_state()


def queued(exchanges: Iterable[Exchange]) -> Iterator[Queued]:
    for it in exchanges:
        if it.inbound is not None and not it.begun and it.outcome is None:
            yield Queued(it.inbound.message_id, it.inbound.text)
