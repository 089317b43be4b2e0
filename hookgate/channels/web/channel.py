"""The web page as a channel: what a chat is sent and what happens there becomes events of its feed.

Knows no request: the page reads feeds and snapshots, and whoever has no page open misses nothing, since all of it is
in the journal.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from time import time

import trio

from hookgate.channels.outcome import became
from hookgate.channels.web import past
from hookgate.channels.web.cards import card
from hookgate.channels.web.feeds import Due, Feed, Feeds, run_for_each
from hookgate.channels.web.rendering import flush, run_rendering
from hookgate.channels.web.running import Running
from hookgate.channels.web.settings import WebParts, WebSettings
from hookgate.channels.web.shapes import ShownMessage, Snapshot, ToolState
from hookgate.channels.web.traces import OBSERVED, TRACED, traced
from hookgate.channels.web.waiting import Waiting, queued
from hookgate.protocol.approval import Voter
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.chat.channel import UNLIMITED, ChannelState, unwatched
from hookgate.protocol.codec import rfc3339
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.inside import PicturesKept
from hookgate.protocol.events.payloads import (
    ApprovalDecided,
    ApprovalRequested,
    SteeringInjected,
    ToolExecEnd,
    ToolExecSkipped,
    ToolExecStart,
    TurnEnd,
    TurnStart,
)
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.journal.views import Exchange

NOT_SERVED = "its server takes no connections"


class WebChannel:
    limits = UNLIMITED

    def __init__(self, settings: WebSettings, parts: WebParts) -> None:
        self.name = settings.name
        self.state = ChannelState("down", time(), NOT_SERVED)
        self.feeds, self.watching = Feeds(), unwatched
        self._settings, self._parts = settings, parts
        self.waiting = Waiting(self.feeds, parts, self.conversation)
        self._written, self._asked = Due[Feed](), Due[str]()

    @property
    def observed(self) -> tuple[str, ...]:
        """Names of the events that `hear` wants."""
        kinds = (*OBSERVED, *(TRACED if self._settings.show_trace else ()))
        return tuple(kind.kind for kind in kinds)

    def served(self, *, accepting: bool) -> None:
        """Whoever serves its requests takes connections from now on, or none any more."""
        why = "" if accepting else NOT_SERVED
        self.state = self.state.become("receiving" if accepting else "down", why, time())

    def shut_out(self) -> None:
        """Who may come in has changed: what is sent next ends the stream of whoever may not."""
        for feed in self.feeds.listened:
            if self._parts.refuses(feed.chat.sender):
                feed.publish_state()

    async def run(self) -> None:
        """Shows what has changed since somebody was last shown it; until cancelled."""
        async with trio.open_nursery() as nursery:
            nursery.start_soon(run_rendering, self._written)
            nursery.start_soon(self.waiting.run)
            nursery.start_soon(run_for_each, self._asked, self._tell_deciders)

    @contextmanager
    def listening(self, feed: Feed) -> Generator[None]:
        """Somebody has it open."""
        feed.listeners += 1
        # What waits may have ended where nobody here has heard of it.
        self.waiting.look_at(feed)
        try:
            with self.watching(feed.chat.session_key):
                yield
        finally:
            feed.listeners -= 1

    # --- what the gateway sends ---

    async def send(self, outbound: Outbound, key: str) -> str:
        """It is in the journal: whoever has no page open reads it there, and whoever has one is shown the same."""
        feed = self.feeds.known(outbound.chat.session_key)
        if feed is None:
            return key
        if outbound.request:
            await self._show_card(feed, outbound.request)
            return key
        await self.waiting.recount(feed)
        if feed.running is not None:
            feed.remember(feed.running)
        shown = await self._shown(feed, key) or past.sent(key, outbound, time(), "")
        if shown.role == "assistant" and feed.running is not None and feed.running.message == shown.answers:
            feed.running = None
        feed.publish("message", shown)
        return key

    async def _shown(self, feed: Feed, row: str) -> ShownMessage | None:
        exchange = await self._parts.journal.chats.exchange(row)
        found = await self._messages([exchange], feed, {}) if exchange is not None else ()
        return next((it for it in found if it.id == row), None)

    async def _messages(
        self, exchanges: Sequence[Exchange], feed: Feed, judged: past.Judged
    ) -> tuple[ShownMessage, ...]:
        """Markdown takes its time, so a thread does it, but for what takes less than asking one."""
        told, redactor = dict(feed.told), self._parts.redactor
        if past.is_short(exchanges):
            return tuple(past.messages(exchanges, told, redactor, judged))
        return await trio.to_thread.run_sync(lambda: tuple(past.messages(exchanges, told, redactor, judged)))

    def stream(self, chat: Chat, text: str) -> None:
        feed = self.feeds.of(chat)
        _running(feed).add(text)
        self._written.add(feed)

    def end_stream(self, chat: Chat) -> None:
        _running(self.feeds.of(chat)).end_paragraph()

    def restart_stream(self, chat: Chat) -> None:
        feed = self.feeds.of(chat)
        _running(feed).restart()
        feed.publish("restart", {})

    async def _show_card(self, feed: Feed, request: str) -> None:
        """As it is by now; what they press comes by its own request."""
        standing = await self._parts.journal.decisions.standing(request)
        if standing is not None and standing.state == "open":
            may = self._parts.may(standing.request, Voter(self.name, feed.chat.chat_id))
            feed.publish("approval", asdict(card(standing, may=may)))
        elif standing is not None:
            feed.publish("approval_done", {"id": request, "text": became(standing)})
        feed.publish_state()

    async def _tell_deciders(self, request: str) -> None:
        """Whoever may decide it hears that it is there, or is no more, in whatever chat they have open."""
        standing = await self._parts.journal.decisions.standing(request)
        for feed in self.feeds.listened:
            if standing is not None and self._parts.may(standing.request, Voter(self.name, feed.chat.chat_id)):
                feed.publish("approvals", {})

    # --- what happens ---

    def hear(self, event: Event) -> None:
        step, payload = event.step, event.payload
        if isinstance(payload, ApprovalRequested | ApprovalDecided):
            # Wherever it was asked.
            self._asked.add(payload.id)
        if step is None or step.chat.channel != self.name or step.parent_turn_id:
            return
        feed = self.feeds.of(step.chat)
        match payload:
            case TurnStart():
                self._begin(feed, step.inbound)
            case TurnEnd():
                self._end(feed)
            case ToolExecStart() if self._settings.show_tools:
                self._tool(feed, payload, "running", past.summary(payload.Arguments))
            case ToolExecEnd() if self._settings.show_tools:
                self._tool(feed, payload, "failed" if payload.IsError else "done", "")
            case ToolExecSkipped() if self._settings.show_tools:
                self._tool(feed, payload, "denied", payload.Reason[: past.MAX_SUMMARY])
            case PicturesKept() if shown := _running(feed).pictures(payload.call_id, past.media(payload.media)):
                feed.publish("tool", shown)
            case SteeringInjected():
                self.waiting.look_at(feed)
            case _:
                if (trace := traced(event)) is not None:
                    _running(feed).note(trace)
                    feed.publish("trace", trace)

    def missed(self, session: str) -> None:
        """Whoever listens reads what stands there."""
        if (feed := self.feeds.known(session)) is not None:
            feed.lose()
            self.waiting.look_at(feed)

    def _begin(self, feed: Feed, inbound: Inbound) -> None:
        feed.begin()
        feed.queued.pop(inbound.message_id, None)
        feed.running = Running(inbound.message_id)
        files, replaces = past.media(inbound.media), bool(inbound.replaces)
        shown = ShownMessage(inbound.message_id, "user", inbound.text, "", rfc3339(time()), files, replaces=replaces)
        if inbound.message_id:
            feed.publish("message", shown)
        feed.publish_state()

    def _end(self, feed: Feed) -> None:
        if feed.running is not None:
            flush(feed)
            feed.running.ended = True
            feed.remember(feed.running)
        feed.publish_state()
        # Of what joined the turn or was dropped in it nothing may have been sent.
        self.waiting.look_at(feed)
        if not feed.listeners:
            feed.rest()

    def _tool(
        self, feed: Feed, payload: ToolExecStart | ToolExecEnd | ToolExecSkipped, state: ToolState, what: str
    ) -> None:
        shown = _running(feed).tool(payload.ToolCallID, payload.Tool, state, what)
        feed.publish("tool", shown)

    # --- what stands there ---

    async def snapshot(self, chat: Chat) -> Snapshot:
        """All of it at one moment: events after its cursor are not in it, or are in it already and say the same."""
        feed, journal = self.feeds.of(chat), self._parts.journal
        # In one moment with the cursor: what is written from now on comes as events.
        cursor, current = self.feeds.id(feed.cursor), feed.writing and feed.writing.shown
        conversation = await self.conversation(chat)
        exchanges = await journal.chats.said(conversation)
        standing = await journal.decisions.pending(chat.session_key)
        judged: past.Judged = await journal.chats.judged(conversation) if self._settings.show_trace else {}
        messages = await self._messages(exchanges, feed, judged)
        voter = Voter(self.name, chat.chat_id)
        cards = tuple(card(it, may=self._parts.may(it.request, voter)) for it in standing)
        # Of the answer that is being written there is no message yet, nor of one that has begun since.
        written = {current.message} if current is not None else set[str]()
        if feed.writing is not None:
            written.add(feed.writing.message)
        messages = tuple(it for it in messages if it.role != "assistant" or it.answers not in written)
        return Snapshot(cursor, messages, current, cards, tuple(queued(exchanges)))

    async def conversation(self, chat: Chat) -> Conversation:
        """The one that goes on there."""
        return await self._parts.journal.intake.conversation(chat.session_key, self._parts.agent(chat))


def _running(feed: Feed) -> Running:
    """Begun where nobody has said that a turn began."""
    if feed.running is None:
        feed.running = Running("")
    return feed.running
