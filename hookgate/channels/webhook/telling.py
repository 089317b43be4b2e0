"""Events that an address is told besides what is said: each a row of the outbox, so that it is delivered as all
messages are. Knows no request."""

from __future__ import annotations

import structlog
import trio

from hookgate.channels.webhook.reading import EVENTS
from hookgate.channels.webhook.settings import WebhookParts
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import DeadLetter

log = structlog.get_logger("hookgate.webhook")

MOST_WAITING = 1000
AGAIN_S = 5.0


class Telling:
    """`hear` wants the events that can be told; those that are wanted by now are stored by `run`."""

    def __init__(self, channel: str, parts: WebhookParts) -> None:
        self._channel, self._parts = channel, parts
        self._heard, self._inbox = trio.open_memory_channel[Event](MOST_WAITING)

    def hear(self, event: Event) -> None:
        lost = event.payload
        if event.kind not in self._parts.events() or (isinstance(lost, DeadLetter) and lost.chat == EVENTS):
            # That an event did not arrive is none: it would not arrive either.
            return
        try:
            self._heard.send_nowait(event)
        except trio.WouldBlock:
            log.error("event_not_told", channel=self._channel, kind=event.kind, reason="too many wait")

    async def run(self) -> None:
        """Until cancelled."""
        await self._parts.ready()
        async for event in self._inbox:
            chat = Chat(self._channel, EVENTS, chat_type="group", thread=event.kind)
            text = event.record.decode("utf-8", "replace").rstrip()
            await self._store(Outbound(chat, text, kind="output"))

    async def _store(self, outbound: Outbound) -> None:
        agent = self._parts.agent(outbound.chat)
        while True:
            try:
                await self._parts.journal.posting.post(agent, [outbound])
            except StoreFailed as error:
                log.warning("event_not_stored", channel=self._channel, reason=str(error))
                await trio.sleep(AGAIN_S)
            else:
                return
