"""Telegram as a channel: what a chat is sent becomes calls of the Bot API. Knows neither a turn nor how updates come.

What the model writes is shown by messages that are edited, at the pace that the limits state.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial

from hookgate.channels.platforms.channel import PlatformChannel
from hookgate.channels.platforms.files import File
from hookgate.channels.platforms.outgoing import replied_to
from hookgate.channels.telegram.api import CALL_S, UPLOAD_S
from hookgate.channels.telegram.incoming.inbox import MAX_FILE
from hookgate.channels.telegram.outgoing.files import MAX_CAPTION, FileCall, file_calls
from hookgate.channels.telegram.outgoing.formatting import formatted
from hookgate.channels.telegram.outgoing.messages import Messages, Text
from hookgate.network.https import CONNECT_S
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import ChannelLimits, Undelivered

# The platform takes 4096 units; what is left is for a mark, or a word about a topic that is gone.
LIMITS = ChannelLimits(
    4000,
    "utf16",
    edit_s=1.5,
    group_edit_s=3.0,
    media_in=MAX_FILE,
    media_out=50_000_000,
    # One upload ends by itself before that; those of a message that have arrived are not sent again.
    media_s=UPLOAD_S + CALL_S + CONNECT_S,
)


class TelegramChannel(PlatformChannel[Messages]):
    limits = LIMITS

    def steps(
        self, outbound: Outbound, key: str, text: str, files: Sequence[File]
    ) -> Sequence[Callable[[], Awaitable[str]]]:
        shown, calls = _formatted(text), tuple(file_calls(files))
        caption = shown if shown.plain and len(calls) == 1 and shown.fits(MAX_CAPTION) else None
        chat, quoted = outbound.chat, replied_to(outbound)
        steps = list[Callable[[], Awaitable[str]]]()
        if shown.plain and caption is None:
            steps.append(partial(self._outgoing.post, chat, shown, reply_to=quoted))
        for call in calls:
            steps.append(partial(self._sent, chat, call, caption, "" if steps else quoted))
        return steps

    def first(self, receipt: str) -> str:
        first = receipt.partition(" ")[0]
        if not first.isdecimal():
            raise Undelivered("Telegram has not said which message that is", final=True)
        return first

    async def change(self, chat: Chat, id_: str, text: str) -> None:
        await self._outgoing.edit(chat, int(id_), _formatted(text))

    async def _sent(self, chat: Chat, call: FileCall, caption: Text | None, quoted: str) -> str:
        try:
            return await self._outgoing.post_files(chat, call, caption, quoted)
        except Undelivered as error:
            if not error.final or call.method not in ("sendPhoto", "sendMediaGroup", "sendVoice"):
                raise
        # What it does not take as a picture, or may not speak there, it takes as it is.
        whole = enumerate(call.as_documents)
        first, rest = (caption, quoted), (None, "")
        return " ".join([await self._outgoing.post_files(chat, it, *(rest if n else first)) for n, it in whole])


def _formatted(text: str) -> Text:
    return Text(formatted(text), text)
