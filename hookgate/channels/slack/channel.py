"""Slack as a channel: what a chat is sent becomes calls of the Web API. Knows neither a turn nor how events come."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import field
from functools import partial

from hookgate.channels.platforms.channel import PlatformChannel
from hookgate.channels.platforms.files import File
from hookgate.channels.platforms.outgoing import written
from hookgate.channels.slack.api import CALL_S, UPLOAD_S
from hookgate.channels.slack.incoming.inbox import MAX_FILE
from hookgate.channels.slack.outgoing.messages import Messages, Text
from hookgate.channels.slack.outgoing.streams import Streams
from hookgate.network.https import CONNECT_S
from hookgate.processes.rates import Rate
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, Undelivered
from hookgate.protocol.dataclasses import dataclass

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
class Outgoing:
    messages: Messages
    streams: Streams
    previews: Rate = field(default_factory=lambda: Rate(PREVIEWS, PREVIEW_EVERY_S))


class SlackChannel(PlatformChannel[Outgoing]):
    limits = LIMITS

    def steps(
        self, outbound: Outbound, key: str, text: str, files: Sequence[File]
    ) -> Sequence[Callable[[], Awaitable[str]]]:
        steps = list[Callable[[], Awaitable[str]]]()
        if text:
            steps.append(partial(self._outgoing.messages.post, outbound.chat, Text.of(text)))
        if files:
            steps.append(partial(self._outgoing.messages.post_files, outbound.chat, files))
        return steps

    async def preview(self, outbound: Outbound, key: str, receipt: str) -> str:
        chat, text = outbound.chat, written(outbound)
        if not receipt:
            return await self._outgoing.streams.begin(chat, text) or await self.send(outbound, key)
        if not await self._outgoing.streams.add(chat, self.first(receipt), text):
            if wait_s := self._outgoing.previews.take(self.name):
                raise Undelivered("Slack takes few edits: the last one comes first", wait_s)
            await self.edit(outbound, receipt)
        return receipt

    def first(self, receipt: str) -> str:
        """Messages have the time when they were sent for their id."""
        first = receipt.partition(" ")[0]
        if "." not in first:
            raise Undelivered("Slack has not said which message that is", final=True)
        return first

    async def change(self, chat: Chat, id_: str, text: str) -> None:
        """A stream is ended by it."""
        if await self._outgoing.streams.end(chat, id_, text):
            return
        try:
            await self._outgoing.messages.edit(chat, id_, Text.of(text))
        except Undelivered as error:
            if "streaming" not in error.why:
                raise
            # Of an earlier run, which broke off.
            await self._outgoing.streams.close(chat, id_)
            await self._outgoing.messages.edit(chat, id_, Text.of(text))
