"""Slack as a channel: what a chat is sent becomes calls of the Web API. Knows neither a turn nor how events come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial

from hookgate.channels.platforms.asking import Asking
from hookgate.channels.platforms.files import read_files
from hookgate.channels.platforms.outgoing import Begun, written
from hookgate.channels.platforms.requests import CONNECT_S
from hookgate.channels.platforms.typing import Typing
from hookgate.channels.slack.api import CALL_S, UPLOAD_S
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming.inbox import MAX_FILE
from hookgate.channels.slack.outgoing.messages import Messages, Text
from hookgate.channels.slack.outgoing.streams import Streams
from hookgate.processes.rates import Rate
from hookgate.protocol.channel import ChannelLimits, ChannelState, Undelivered
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.media import MediaStore

# The platform takes 4,000 of a message that is changed; what is left is for its marks.
LIMITS = ChannelLimits(
    3500,
    "chars",
    edit_s=1.2,
    group_edit_s=1.2,
    buttons=25,
    media_in=MAX_FILE,
    media_out=100_000_000,
    media_s=UPLOAD_S + CALL_S + CONNECT_S,
)
PREVIEWS, PREVIEW_EVERY_S = 15, 1.7
"""Edits of all chats together: the platform takes about fifty a minute, and the last one of each has to get there."""


@dataclass(frozen=True)
class Ways:
    """How what is said gets there."""

    messages: Messages
    streams: Streams


class SlackChannel:
    limits = LIMITS

    def __init__(
        self, name: str, ways: Ways, asking: Asking, typing: Typing, connection: Connection, media: MediaStore
    ) -> None:
        self.name = name
        self._messages, self._streams = ways.messages, ways.streams
        self._asking, self._typing = asking, typing
        self._connection, self._media = connection, media
        self._begun, self._previews = Begun(), Rate(PREVIEWS, PREVIEW_EVERY_S)

    @property
    def state(self) -> ChannelState:
        return self._connection.state

    async def send(self, outbound: Outbound, key: str) -> str:
        """The receipt: when it was sent, which is its id, and those of its files."""
        if outbound.request:
            self._typing.end(outbound.chat)
            return await self._asking.show(outbound)
        files, notes = await read_files(self._media, outbound.media, LIMITS.media_out)
        text, chat, steps = written(outbound, notes), outbound.chat, list[Callable[[], Awaitable[str]]]()
        if text:
            steps.append(partial(self._messages.post, chat, Text.of(text)))
        if files:
            steps.append(partial(self._messages.post_files, chat, files))
        return await self._begun.go_on(key, steps)

    async def preview(self, outbound: Outbound, key: str, receipt: str) -> str:
        chat, text = outbound.chat, written(outbound)
        if not receipt:
            return await self._streams.begin(chat, text) or await self.send(outbound, key)
        if not await self._streams.add(chat, _first(receipt), text):
            if wait_s := self._previews.take(self.name):
                raise Undelivered("Slack takes few edits: the last one comes first", wait_s)
            await self.edit(outbound, receipt)
        return receipt

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        """A stream is ended by it."""
        chat, first, text = outbound.chat, _first(receipt), written(outbound)
        if outbound.request:
            await self._asking.change(outbound, first)
            return
        if await self._streams.end(chat, first, text):
            return
        try:
            await self._messages.edit(chat, first, Text.of(text))
        except Undelivered as error:
            if "streaming" not in error.why:
                raise
            # Of an earlier run, which broke off.
            await self._streams.close(chat, first)
            await self._messages.edit(chat, first, Text.of(text))

    def stream(self, chat: Chat, text: str) -> None:
        """Shown by `preview`."""

    def end_stream(self, chat: Chat) -> None:
        """Shown by `preview`."""

    def restart_stream(self, chat: Chat) -> None:
        """Shown by `preview`."""

    # --- what happens ---

    def hear(self, event: Event) -> None:
        self._typing.hear(event)


def _first(receipt: str) -> str:
    """Raises Undelivered."""
    first = receipt.partition(" ")[0]
    if "." not in first:
        raise Undelivered("Slack has not said which message that is", final=True)
    return first
