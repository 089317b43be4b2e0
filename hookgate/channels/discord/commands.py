"""The slash commands that Discord offers in the bot's chats: put there as a whole, where they have changed."""

from __future__ import annotations

import re
from collections.abc import Sequence
from hashlib import sha256

import structlog

from hookgate.channels.discord.api import Api, ApiFailed, Route
from hookgate.protocol.codec import encode
from hookgate.protocol.journal.interfaces import Holds

log = structlog.get_logger("hookgate.discord")

STATE = "commands"
MOST, MAX_HELP = 100, 100
_NAME = re.compile(r"[a-z0-9_-]{1,32}")
CHAT_INPUT, STRING = 1, 3
REST = {"type": STRING, "name": "text", "description": "what the command is given", "required": False}


async def tell_commands(
    channel: str, api: Api, application: str, rows: Sequence[tuple[str, str]], holds: Holds
) -> None:
    """Their names and helps. Raises StoreFailed; without it people can type them all the same."""
    told = [
        {"type": CHAT_INPUT, "name": name, "description": text[:MAX_HELP] or name, "options": [REST]}
        for name, text in rows
        if _NAME.fullmatch(name)
    ][:MOST]
    # Who has another bot, or another server, has told nobody yet.
    digest = sha256(encode([api.server, application, told])).hexdigest()
    if await holds.state(channel, STATE) == digest:
        return
    try:
        await api.call(Route("PUT", "/applications/{}/commands", (application,)), told)
    except ApiFailed as error:
        log.warning("commands_not_told", channel=channel, reason=error.why)
    else:
        await holds.keep_state(channel, STATE, digest)
