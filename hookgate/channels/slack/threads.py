"""Threads that the bot takes part in: what is said there is meant for it, and they are caught up with. Kept in the
journal."""

from __future__ import annotations

from collections import OrderedDict
from typing import cast

from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.journal.interfaces import Journal

STATE = "threads"
MOST = 500
"""Of more the bot has to be mentioned again in those that have rested longest."""


class Threads:
    def __init__(self, channel: str, journal: Journal) -> None:
        self._channel, self._holds, self._cluster = channel, journal.holds, journal.cluster
        self._known: OrderedDict[tuple[str, str], None] = OrderedDict()
        self._cluster.follow(f"{STATE} of {channel}", self.load)

    async def load(self) -> None:
        """Raises StoreFailed."""
        self._known = _read(await self._holds.state(self._channel, STATE))

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
        if key in self._known:
            self._known.move_to_end(key)
            return

        def add(kept: str) -> str:
            rows = [it for it in _read(kept) if it != key]
            return encode([*rows, key][-MOST:]).decode()

        # With those that other gateways have noted.
        self._known = _read(await self._holds.change_state(self._channel, STATE, add))
        self._cluster.altered(f"{STATE} of {self._channel}")


def _read(kept: str) -> OrderedDict[tuple[str, str], None]:
    rows = cast("list[list[str]]", decode(kept) if kept else [])
    return OrderedDict(((str(chat), str(thread)), None) for chat, thread in rows)
