"""Requests that are conversations of their own: what was said in them is forgotten once nobody asks for it again.
What hooks and people decided stays in the audit."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import count
from time import time

import structlog
import trio

from hookgate.channels.openai.asking import REPEATED_S
from hookgate.channels.openai.identity import ALONE
from hookgate.channels.openai.settings import OpenAIParts
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Accepted, Conversation

log = structlog.get_logger("hookgate.openai")

KEPT_S = 86_400.0
"""So long a client can name a request again by its key, or go on with a response."""
LOOK_S = 60.0
MOST = 100_000


@dataclass(frozen=True, slots=True)
class _Used:
    """`until`: it is kept; `message`: the last one there as far as this gateway knows; empty: it does not."""

    until: float
    message: str


class Forgetting:
    def __init__(self, channel: str, parts: OpenAIParts) -> None:
        self._channel, self._parts = channel, parts
        self._used: dict[Conversation, _Used] = {}
        # When to look at which, the first to go first.
        self._due: list[tuple[float, int, Conversation]] = []
        self._numbers = count()

    def forget(self, accepted: Accepted, *, long: bool) -> None:
        """Once nobody can ask for it again, or go on with it."""
        self._put(accepted.conversation, _Used(time() + (KEPT_S if long else REPEATED_S), accepted.id))

    def _put(self, conversation: Conversation, used: _Used) -> None:
        before = self._used.get(conversation, used)
        self._used[conversation] = _Used(max(used.until, before.until), used.message)
        heappush(self._due, (self._used[conversation].until, next(self._numbers), conversation))

    async def run(self) -> None:
        """Until cancelled. What earlier runs have left, and gateways that are gone, is counted from when it was used
        last."""
        before: frozenset[str] | None = None
        while True:
            members = frozenset(it.id for it in self._parts.journal.cluster.members)
            if (before is not None and before <= members) or await self._list():
                before = members
            await self._look()
            await trio.sleep(LOOK_S)

    async def _list(self) -> bool:
        try:
            rows = await self._parts.journal.chats.listed(f"{self._channel}:", most=MOST)
        except StoreFailed as error:
            log.warning("requests_not_listed", reason=str(error))
            return False
        for row in rows:
            if f"/{ALONE}" in row.conversation.session and row.conversation not in self._used:
                self._put(row.conversation, _Used(row.last_at + KEPT_S, ""))
        return True

    async def _look(self) -> None:
        while self._due and self._due[0][0] <= time():
            due = heappop(self._due)
            conversation = due[2]
            used = self._used.get(conversation)
            try:
                if used is not None and used.until <= time():
                    await self._end(conversation, used)
            except StoreFailed as error:
                log.warning("request_not_forgotten", reason=str(error))
                heappush(self._due, due)
                return

    async def _end(self, conversation: Conversation, used: _Used) -> None:
        """Unless somebody has gone on with it at another gateway."""
        said = [it for it in await self._parts.journal.chats.said(conversation, 1) if it.message]
        if said and said[-1].message != used.message and (until := said[-1].at + KEPT_S) > time():
            self._used[conversation] = _Used(until, said[-1].message)
            heappush(self._due, (until, next(self._numbers), conversation))
            return
        await self._parts.journal.books.forget(conversation)
        del self._used[conversation]
