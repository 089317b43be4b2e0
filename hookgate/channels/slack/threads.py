"""Threads that the bot takes part in: what is said there is meant for it, and they are caught up with. Kept in the
journal."""

from __future__ import annotations

from collections import OrderedDict
from typing import cast

from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.journal.interfaces import Holds

STATE = "threads"
MOST = 500
"""Of more the bot has to be mentioned again in those that have rested longest."""


class Threads:
    def __init__(self, channel: str, holds: Holds) -> None:
        self._channel, self._holds = channel, holds
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()

    async def load(self) -> None:
        """Raises StoreFailed."""
        kept = await self._holds.state(self._channel, STATE)
        rows = cast("list[list[str]]", decode(kept) if kept else [])
        self._known = OrderedDict(((str(chat), str(thread)), None) for chat, thread in rows)

    def __contains__(self, chat: Chat) -> bool:
        return (chat.chat_id, chat.thread) in self._known

    @property
    def all(self) -> tuple[tuple[str, str], ...]:
        """Channels and threads, the one with the latest word last."""
        return tuple(self._known)

    async def note(self, chat: Chat) -> None:
        """Raises StoreFailed."""
        key = (chat.chat_id, chat.thread)
        if not chat.thread:
            return
        known = key in self._known
        self._known[key] = None
        self._known.move_to_end(key)
        if not known:
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            await self._holds.keep_state(self._channel, STATE, encode(list(self._known)).decode())
