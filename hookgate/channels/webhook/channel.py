"""A webhook as a channel: what a chat is sent goes to its address, each row under an id of its own. Knows neither a
turn nor how messages come in."""

from __future__ import annotations

from collections.abc import Mapping
from time import time
from typing import Any, cast

import structlog

from hookgate.channels.platforms.files import read_files
from hookgate.channels.webhook.envelope import Envelope, id_of
from hookgate.channels.webhook.reading import EVENTS
from hookgate.channels.webhook.sender import Sender
from hookgate.channels.webhook.settings import WebhookParts, WebhookSettings
from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, ChannelState, Undelivered
from hookgate.protocol.codec import decode

log = structlog.get_logger("hookgate.webhook")

MAX_FILE = 5_000_000
LIMITS = ChannelLimits(media_in=MAX_FILE, media_out=MAX_FILE)
IN, OUT = "what comes in cannot be stored", "what is said does not get to its url"


class Condition:
    """How the channel is, in words for an operator."""

    def __init__(self, channel: str) -> None:
        self._channel = channel
        self._troubles: dict[str, str] = {}
        self.state = ChannelState("down", time(), "it is not open yet")

    def opens(self) -> None:
        self._become()

    def fails(self, what: str, why: str) -> None:
        self._troubles[what] = why
        self._become()

    def works(self, what: str) -> None:
        if self._troubles.pop(what, None) is not None:
            self._become()

    def _become(self) -> None:
        why = "; ".join(f"{what}: {why}" for what, why in self._troubles.items())
        before, self.state = self.state, self.state.become("degraded" if why else "receiving", why, time())
        if (before.state, before.why) != (self.state.state, why):
            say = log.warning if why else log.info
            say("channel_state", channel=self._channel, state=self.state.state, reason=why)


class WebhookChannel:
    """`instance`: of the journal that its rows are in. `sender` None: it has no address."""

    limits = LIMITS

    def __init__(
        self,
        settings: WebhookSettings,
        instance: str,
        sender: Sender | None,
        condition: Condition,
        parts: WebhookParts,
    ) -> None:
        self.name = settings.name
        self._source, self._instance = settings.source, instance
        self._sender, self._condition, self._parts = sender, condition, parts

    @property
    def state(self) -> ChannelState:
        return self._condition.state

    async def send(self, outbound: Outbound, key: str) -> str:
        """The receipt: the id that it went under; empty where it went nowhere."""
        if self._sender is None:
            return self._nowhere(outbound)
        id_ = id_of(self._instance, key)
        body = await self._body(outbound, Envelope(self._source, id_))
        if not body:
            return ""
        try:
            await self._sender.post(id_, body)
        except Undelivered as error:
            self._condition.fails(OUT, error.why)
            raise
        self._condition.works(OUT)
        return id_

    def _nowhere(self, outbound: Outbound) -> str:
        if outbound.request:
            raise Undelivered(f"[channels.{self.name}] has no url, so nobody can be asked there", final=True)
        if outbound.kind == "error":
            log.warning("error_not_sent", channel=self.name, session=outbound.chat.session_key, text=outbound.text)
        return ""

    async def _body(self, outbound: Outbound, envelope: Envelope) -> bytes:
        """Empty where nothing is to be sent any more."""
        if outbound.request:
            standing = await self._parts.journal.decisions.standing(outbound.request)
            return envelope.request(outbound.chat, standing) if standing is not None else b""
        if outbound.chat.chat_id == EVENTS and outbound.kind == "output":
            return envelope.event(outbound.chat.thread, cast("Mapping[str, Any]", decode(outbound.text)))
        files, notes = await read_files(self._parts.media, outbound.media, MAX_FILE)
        return envelope.message(outbound, files, notes)

    def shows_whole(self, _request: ApprovalRequest) -> bool:
        """Its event has all of the call."""
        return True

    def stream(self, chat: Chat, text: str) -> None:
        """Answers are sent whole."""

    def end_stream(self, chat: Chat) -> None:
        """Answers are sent whole."""

    def restart_stream(self, chat: Chat) -> None:
        """Answers are sent whole."""
