"""What a thread has said before the bot was called into it, quoted."""

from __future__ import annotations

from collections.abc import Mapping

import structlog
from pydantic import ValidationError

from hookgate.channels.platforms.said import Said, clean
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.incoming.spoken import spoken
from hookgate.channels.slack.wire import Past

log = structlog.get_logger("hookgate.slack")

MOST = 15
MAX_QUOTED = 1000
"""Of one message."""


async def earlier(api: Api, said: Said, me: str) -> str:
    """Its first messages; empty where this one begins it, or they cannot be had: what was asked is heard all the
    same."""
    chat = said.chat
    if not chat.thread or chat.thread == said.message_id or said.text.startswith("/"):
        return ""
    where: Mapping[str, object] = {"channel": chat.chat_id, "ts": chat.thread, "limit": MOST}
    try:
        past = Past.model_validate(await api.call("conversations.replies", where))
    except (ApiFailed, ValidationError) as error:
        log.info("thread_not_read", channel=chat.channel, chat=chat.chat_id, reason=str(error)[:200])
        return ""
    lines = list[str]()
    for it in past.messages:
        who, text, ts = it.get("user"), it.get("text"), it.get("ts")
        if isinstance(who, str) and isinstance(text, str) and isinstance(ts, str) and ts < said.message_id:
            shown = clean(spoken(text, me)[:MAX_QUOTED])
            lines += (f"> {line}" for line in f"{who}: {shown}".splitlines())
    return "\n".join(("[the thread so far]", *lines)) if lines else ""
