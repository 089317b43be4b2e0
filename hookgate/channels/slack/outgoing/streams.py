"""Messages that Slack itself shows being written, where the workspace has that: begun, added to, and ended. Knows no
pace. What is not possible so is left to edits."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import structlog

from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.outgoing.messages import ts_of
from hookgate.channels.slack.outgoing.neutral import neutral
from hookgate.protocol.chat import Chat

log = structlog.get_logger("hookgate.slack")

NOT_HERE = frozenset({"unknown_method", "method_not_supported_for_channel_type", "not_allowed_token_type"})
NOT_THERE = frozenset({"feature_not_enabled", "team_not_allowed", "method_deprecated", "missing_scope"})
"""With either the workspace has no streams at all."""


class Streams:
    """Those that are being written, by channel and message: what stands there. One that the platform has ended by
    itself, as it does after some minutes, is forgotten."""

    def __init__(self, channel: str, api: Api) -> None:
        self._channel, self._api = channel, api
        self._open: dict[tuple[str, str], str] = {}
        self._there_are = True
        self.team = ""
        """The workspace, once it is known."""

    async def begin(self, chat: Chat, markdown: str) -> str:
        """The message; empty where it has to be sent and edited. Only threads have streams, and in a channel only for
        somebody."""
        if not (self._there_are and chat.thread and self.team and chat.sender and markdown):
            return ""
        whose: Mapping[str, str] = {} if chat.chat_type == "direct" else self._for(chat)
        markdown = neutral(markdown)
        said = {"channel": chat.chat_id, "thread_ts": chat.thread, "markdown_text": markdown}
        try:
            ts = ts_of(await self._api.call("chat.startStream", {**said, **whose}))
        except ApiFailed as error:
            if not error.code:
                # It may be there.
                raise error.undelivered from None
            self._there_are = error.code not in NOT_HERE | NOT_THERE
            log.info("no_stream", channel=self._channel, reason=error.why)
            return ""
        if ts:
            self._open[chat.chat_id, ts] = markdown
        return ts

    def _for(self, chat: Chat) -> Mapping[str, str]:
        team, _, user = chat.sender.rpartition(".")
        return {"recipient_team_id": team or self.team, "recipient_user_id": user}

    async def add(self, chat: Chat, ts: str, markdown: str) -> bool:
        """Until all of this stands there. False: it has to be edited. Raises Undelivered."""
        shown, markdown = self._open.get((chat.chat_id, ts)), neutral(markdown)
        if shown is None or not markdown.startswith(shown):
            return False
        if markdown != shown:
            said = {"channel": chat.chat_id, "ts": ts, "markdown_text": markdown[len(shown) :]}
            if not await self._goes_on("chat.appendStream", said):
                return False
            self._open[chat.chat_id, ts] = markdown
        return True

    async def end(self, chat: Chat, ts: str, markdown: str) -> bool:
        """With all of this standing there. False: it is no stream any more, and has to be edited. Raises
        Undelivered."""
        shown, markdown = self._open.get((chat.chat_id, ts)), neutral(markdown)
        if shown is None:
            return False
        said: dict[str, Any] = {"channel": chat.chat_id, "ts": ts}
        follows = markdown.startswith(shown)
        said["markdown_text"] = markdown[len(shown) :] or None if follows else None
        goes_on = await self._goes_on("chat.stopStream", said)
        self._open.pop((chat.chat_id, ts), None)
        return goes_on and follows

    async def close(self, chat: Chat, ts: str) -> None:
        """One of an earlier run, which nobody remembers. Raises Undelivered."""
        await self._goes_on("chat.stopStream", {"channel": chat.chat_id, "ts": ts})

    async def _goes_on(self, method: str, said: Mapping[str, object]) -> bool:
        """Raises Undelivered where it may go on later."""
        try:
            await self._api.call(method, said)
        except ApiFailed as error:
            if not error.is_final:
                raise error.undelivered from None
            log.info("stream_over", channel=self._channel, reason=error.why)
            self._open.pop((str(said["channel"]), str(said["ts"])), None)
            return False
        return True
