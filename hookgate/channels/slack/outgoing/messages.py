"""Messages on their way out, each as one call, whatever the platform makes of it. Knows no queue: what can be tried
again leaves as Undelivered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pydantic import ValidationError

from hookgate.channels.platforms.files import File, filename
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.outgoing.mrkdwn import escaped, mrkdwn
from hookgate.channels.slack.outgoing.neutral import neutral
from hookgate.channels.slack.wire import Posted, UploadUrl
from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.dataclasses import dataclass

MAX_TEXT = 4000
"""Of a message that is changed; the platform takes ten times as much of a new one."""
NOTE = 300
"""What a notification shows of a message whose text stands in a block."""
GONE_THREAD = "(The thread that this belongs to is gone.)"
THREAD_IS_GONE = ("thread_not_found", "invalid_thread_ts")
NO_PREVIEW: dict[str, object] = {"unfurl_links": False, "unfurl_media": False}
"""Else the platform fetches what a model has made somebody look at."""

Blocks = list[dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Text:
    """`text`: what notifications show too. Without blocks it is all that is shown."""

    text: str
    blocks: Blocks

    @staticmethod
    def of(markdown: str) -> Text:
        """What gets too long by being written in the platform's way is given to it as Markdown."""
        written = mrkdwn(markdown)
        if len(written) <= MAX_TEXT:
            return Text(written, [])
        return Text(escaped(markdown[:NOTE]), [{"type": "markdown", "text": neutral(markdown)}])


class Messages:
    """Raises Undelivered: `final` where the same would be refused again."""

    def __init__(self, api: Api) -> None:
        self._api = api

    async def post(self, chat: Chat, text: Text) -> str:
        """A message; when it was sent, which is its id in its channel."""
        said = {"channel": chat.chat_id, "text": text.text, "blocks": text.blocks or None, **NO_PREVIEW}
        try:
            try:
                sent = await self._api.call("chat.postMessage", {**said, "thread_ts": chat.thread or None})
            except ApiFailed as error:
                if not chat.thread or error.code not in THREAD_IS_GONE:
                    raise
                noted = {**said, "text": f"{text.text}\n\n{GONE_THREAD}"}
                sent = await self._api.call("chat.postMessage", noted)
        except ApiFailed as error:
            raise error.undelivered from None
        return ts_of(sent)

    async def edit(self, chat: Chat, ts: str, text: Text) -> None:
        await self._called(
            "chat.update", {"channel": chat.chat_id, "ts": ts, "text": text.text, "blocks": text.blocks}
        )

    async def tell(self, chat: Chat, user: str, text: str) -> None:
        """This one person alone, in the chat."""
        said = {"channel": chat.chat_id, "text": escaped(text), "thread_ts": chat.thread or None}
        said["user"] = user.rpartition(".")[2]
        await self._called("chat.postEphemeral", said)

    async def show_at_work(self, chat: Chat) -> None:
        """Only threads can."""
        if chat.thread:
            said = {"channel_id": chat.chat_id, "thread_ts": chat.thread, "status": "is thinking..."}
            await self._called("assistant.threads.setStatus", said)

    async def post_files(self, chat: Chat, files: Sequence[File]) -> str:
        """As one message; their ids."""
        uploaded = list[dict[str, str]]()
        for n, file in enumerate(files, 1):
            name, content = filename(n, file), file.content
            where = await self._called("files.getUploadURLExternal", {"filename": name, "length": len(content)})
            try:
                wanted = UploadUrl.model_validate(where)
                await self._api.upload(wanted.upload_url, content)
            except ValidationError:
                raise Undelivered("Slack: it does not say where the file goes") from None
            except ApiFailed as error:
                raise error.undelivered from None
            uploaded.append({"id": wanted.file_id, "title": name})
        where = {"channel_id": chat.chat_id, "thread_ts": chat.thread or None}
        await self._called("files.completeUploadExternal", {"files": uploaded, **where})
        return " ".join(it["id"] for it in uploaded)

    async def _called(self, method: str, params: Mapping[str, object]) -> Mapping[str, Any]:
        try:
            return await self._api.call(method, params)
        except ApiFailed as error:
            raise error.undelivered from None


def ts_of(sent: object) -> str:
    """Empty where the platform does not say."""
    try:
        return Posted.model_validate(sent).ts
    except ValidationError:
        return ""
