"""Groups that the platform has given another id: their conversation goes on under the one that it began with."""

from __future__ import annotations

from typing import cast

import structlog
import trio

from hookgate.channels.platforms.message import PlatformMessage
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.interfaces import Journal

log = structlog.get_logger("hookgate.telegram")

STATE = "moved groups"


class Moves:
    """Kept in the journal: an answer may be on its way to an id that is gone."""

    def __init__(self, channel: str, journal: Journal) -> None:
        self._channel, self._holds, self._cluster = channel, journal.holds, journal.cluster
        self._now: dict[str, int] = {}
        self._before: dict[int, str] = {}
        self._noting = trio.Lock()
        self._cluster.follow(f"{STATE} of {channel}", self.load)

    async def load(self) -> None:
        """Raises StoreFailed."""
        self._know(await self._holds.state(self._channel, STATE))

    def _know(self, kept: str) -> None:
        self._now = _read(kept)
        self._before = {new: old for old, new in self._now.items()}

    async def note(self, old: int, new: int) -> None:
        """Raises StoreFailed; it is not known then, and noted when it is said again."""
        async with self._noting:
            first = self._before.get(old, str(old))
            if old == new or self._now.get(first) == new:
                return
            # With what other gateways have noted.
            self._know(
                await self._holds.change_state(
                    self._channel, STATE, lambda kept: encode({**_read(kept), first: new}).decode()
                )
            )
        self._cluster.altered(f"{STATE} of {self._channel}")
        log.warning("group_moved", channel=self._channel, chat=first, now=new)

    def known(self, said: PlatformMessage) -> PlatformMessage:
        """Under the id that its conversation has. Messages are numbered anew in a group that has moved."""
        first = self._before.get(int(said.chat.chat_id))
        if first is None:
            return said
        id_ = f"{said.chat.chat_id}.{said.message_id}"
        return replace(said, chat=replace(said.chat, chat_id=first), message_id=id_)

    def current(self, chat_id: str) -> int | str:
        """What the platform knows it by. `@name` is one too."""
        if chat_id in self._now:
            return self._now[chat_id]
        return int(chat_id) if chat_id.removeprefix("-").isdecimal() else chat_id


def _read(kept: str) -> dict[str, int]:
    return cast("dict[str, int]", decode(kept)) if kept else {}
