"""Discord as a channel: what a chat is sent becomes calls of its API. Knows neither a turn nor how messages come.

What the model writes is shown by messages that are edited, at the pace that the limits state.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

from hookgate.channels.discord.api import CALL_S, PATIENCE_S, UPLOAD_S
from hookgate.channels.discord.connection import Connection
from hookgate.channels.discord.incoming.inbox import MAX_FILE
from hookgate.channels.discord.outgoing.formatting import formatted
from hookgate.channels.discord.outgoing.messages import MOST, Messages
from hookgate.channels.platforms.asking import Asking
from hookgate.channels.platforms.files import File, filename, read_files
from hookgate.channels.platforms.outgoing import Begun, replied_to, written
from hookgate.channels.platforms.requests import Upload
from hookgate.channels.platforms.typing import Typing
from hookgate.protocol.channel import ChannelLimits, ChannelState, Undelivered
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.events.event import Event
from hookgate.protocol.media import MediaStore

# Of the 2,000 characters that the platform takes, some are for a mark and for what formatting adds.
LIMITS = ChannelLimits(
    1900,
    edit_s=1.5,
    media_in=MAX_FILE,
    media_out=10 << 20,
    media_s=UPLOAD_S + CALL_S + PATIENCE_S,
)
MOST_FILES, MOST_BYTES = 10, 24_000_000
"""Of one message."""


class DiscordChannel:
    limits = LIMITS

    def __init__(
        self, name: str, messages: Messages, asking: Asking, typing: Typing, connection: Connection, media: MediaStore
    ) -> None:
        self.name = name
        self._messages, self._asking, self._typing = messages, asking, typing
        self._connection, self._media = connection, media
        self._begun = Begun()

    @property
    def state(self) -> ChannelState:
        return self._connection.state

    # --- what the gateway sends ---

    async def send(self, outbound: Outbound, key: str) -> str:
        """The receipt: the ids of its messages. Text and files go together where that is one message."""
        if outbound.request:
            self._typing.end(outbound.chat)
            return await self._asking.show(outbound)
        files, notes = await read_files(self._media, outbound.media, LIMITS.media_out)
        text, quoted = formatted(written(outbound, notes), MOST), replied_to(outbound)
        groups = list(_groups(files)) or [()]
        steps = [
            partial(
                self._post, outbound.chat, f"{key}/{n}" if n else key, "" if n else text, group, "" if n else quoted
            )
            for n, group in enumerate(groups)
        ]
        return await self._begun.go_on(key, steps)

    async def _post(self, chat: Chat, key: str, text: str, uploads: Sequence[Upload], quoted: str) -> str:
        return await self._messages.post(chat, key, text, uploads, reply_to=quoted)

    async def edit(self, outbound: Outbound, receipt: str) -> None:
        first = receipt.partition(" ")[0]
        if not first.isdecimal():
            raise Undelivered("Discord has not said which message that is", final=True)
        if outbound.request:
            await self._asking.change(outbound, first)
        else:
            await self._messages.edit(outbound.chat, first, formatted(written(outbound), MOST))

    def stream(self, chat: Chat, text: str) -> None:
        """Shown by `edit`."""

    def end_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    def restart_stream(self, chat: Chat) -> None:
        """Shown by `edit`."""

    # --- what happens ---

    def hear(self, event: Event) -> None:
        self._typing.hear(event)


def _groups(files: Sequence[File]) -> Iterator[tuple[Upload, ...]]:
    """As many files together as a message takes."""
    group, size = list[Upload](), 0
    for number, file in enumerate(files, 1):
        if group and (len(group) == MOST_FILES or size + len(file.content) > MOST_BYTES):
            yield tuple(group)
            group, size = [], 0
        group.append(Upload(f"files[{len(group)}]", filename(number, file), file.type, file.content))
        size += len(file.content)
    if group:
        yield tuple(group)
