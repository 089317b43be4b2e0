"""Groups that the platform has given another id: their conversation goes on under the one that it began with."""

from __future__ import annotations

from typing import cast

import structlog
import trio

from hookgate.channels.platforms.said import Said
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.interfaces import Holds

log = structlog.get_logger("hookgate.telegram")

STATE = "moved groups"


class Moves:
    """Kept in the journal: an answer may be on its way to an id that is gone."""

    def __init__(self, channel: str, holds: Holds) -> None:
        self._channel, self._holds = channel, holds
        self._now: dict[str, int] = {}
        self._before: dict[int, str] = {}
        self._noting = trio.Lock()

    async def load(self) -> None:
        """Raises StoreFailed."""
        if kept := await self._holds.state(self._channel, STATE):
            self._now = cast("dict[str, int]", decode(kept))
            self._before = {new: old for old, new in self._now.items()}

    async def note(self, old: int, new: int) -> None:
        """Raises StoreFailed; it is not known then, and noted when it is said again."""
        async with self._noting:
            first = self._before.get(old, str(old))
            if old == new or self._now.get(first) == new:
                return
            now = {**self._now, first: new}
            await self._holds.keep_state(self._channel, STATE, encode(now).decode())
            self._now, self._before = now, {its: before for before, its in now.items()}
        log.warning("group_moved", channel=self._channel, chat=first, now=new)

    def known(self, said: Said) -> Said:
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
