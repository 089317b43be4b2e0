"""Discord as a channel: what a chat is sent becomes calls of its API. Knows neither a turn nor how messages come.

What the model writes is shown by messages that are edited, at the pace that the limits state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from functools import partial

from hookgate.channels.discord.api import CALL_S, PATIENCE_S, UPLOAD_S
from hookgate.channels.discord.incoming.inbox import MAX_FILE
from hookgate.channels.discord.outgoing.formatting import formatted
from hookgate.channels.discord.outgoing.messages import MOST, Messages
from hookgate.channels.platforms.channel import PlatformChannel
from hookgate.channels.platforms.files import File, filename
from hookgate.channels.platforms.outgoing import replied_to
from hookgate.channels.platforms.requests import Upload
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, Undelivered

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


class DiscordChannel(PlatformChannel[Messages]):
    """Text and files go together where that is one message."""

    limits = LIMITS

    def steps(
        self, outbound: Outbound, key: str, text: str, files: Sequence[File]
    ) -> Sequence[Callable[[], Awaitable[str]]]:
        post, first = self._outgoing.post, (formatted(text, MOST), replied_to(outbound))
        groups = list(_groups(files)) or [()]
        steps = list[Callable[[], Awaitable[str]]]()
        for number, group in enumerate(groups):
            its_key = f"{key}/{number}" if number else key
            shown, quoted = ("", "") if number else first
            steps.append(partial(post, outbound.chat, its_key, shown, group, reply_to=quoted))
        return steps

    def first(self, receipt: str) -> str:
        first = receipt.partition(" ")[0]
        if not first.isdecimal():
            raise Undelivered("Discord has not said which message that is", final=True)
        return first

    async def change(self, chat: Chat, id_: str, text: str) -> None:
        await self._outgoing.edit(chat, id_, formatted(text, MOST))


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
