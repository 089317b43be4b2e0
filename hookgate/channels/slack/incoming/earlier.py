"""What a thread has said before the bot was called into it, quoted: of those alone whom the bot would hear."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import structlog
from pydantic import ValidationError

from hookgate.channels.platforms.message import PlatformMessage
from hookgate.channels.slack.api import Api, ApiFailed
from hookgate.channels.slack.incoming.events import Reader
from hookgate.channels.slack.wire import Past
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import replace

log = structlog.get_logger("hookgate.slack")

MOST = 15
MAX_QUOTED = 1000
"""Of one message."""


async def earlier(api: Api, reader: Reader, said: PlatformMessage, hears: Callable[[Inbound], bool]) -> str:
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
    lines, kind = list[str](), "im" if chat.chat_type == "direct" else "channel"
    for raw in past.messages:
        heard = reader.past(raw, chat.chat_id, kind)
        # Whoever is listed is heard, though they have not called the bot.
        if not isinstance(heard, PlatformMessage) or not hears(replace(heard, mentioned=True).inbound):
            continue
        if heard.message_id < said.message_id:
            lines += (f"> {line}" for line in f"{heard.chat.sender}: {heard.text[:MAX_QUOTED]}".splitlines())
    return "\n".join(("[the thread so far]", *lines)) if lines else ""
