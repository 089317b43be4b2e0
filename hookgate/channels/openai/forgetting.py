"""Requests that are conversations of their own: what was said in them is forgotten once nobody asks for it again.
What hooks and people decided stays in the audit."""

from __future__ import annotations

from collections import deque
from time import time

import structlog
import trio

from hookgate.channels.openai.asking import REPEATED_S
from hookgate.channels.openai.identity import ALONE
from hookgate.channels.openai.settings import OpenAIParts
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.values import Conversation

log = structlog.get_logger("hookgate.openai")

KEPT_S = 86_400.0
"""So long a client can name a request again by its key, or go on with a response."""
LOOK_S = 60.0
MOST = 100_000


class Forgetting:
    def __init__(self, channel: str, parts: OpenAIParts) -> None:
        self._channel, self._parts = channel, parts
        # When each may go, by what was said of it last; and when to look at which, the first to go first.
        self._until: dict[Conversation, float] = {}
        self._soon, self._later = deque[tuple[float, Conversation]](), deque[tuple[float, Conversation]]()

    def forget(self, conversation: Conversation, *, long: bool) -> None:
        """Once nobody can ask for it again, or go on with it."""
        until = time() + (KEPT_S if long else REPEATED_S)
        self._put(conversation, max(until, self._until.get(conversation, until)), self._later if long else self._soon)

    def _put(self, conversation: Conversation, until: float, queue: deque[tuple[float, Conversation]]) -> None:
        self._until[conversation] = until
        queue.append((until, conversation))

    async def run(self) -> None:
        """Until cancelled. What earlier runs have left is counted from when it was used last."""
        try:
            for row in reversed(await self._parts.journal.chats.listed(f"{self._channel}:", most=MOST)):
                if f"/{ALONE}" in row.conversation.session:
                    self._put(row.conversation, row.last_at + KEPT_S, self._later)
        except StoreFailed as error:
            log.warning("requests_not_listed", reason=str(error))
        while True:
            await self._look()
            await trio.sleep(LOOK_S)

    async def _look(self) -> None:
        for queue in (self._soon, self._later):
            while queue and queue[0][0] <= time():
                conversation = queue[0][1]
                try:
                    if self._until.get(conversation, 0.0) <= time():
                        await self._parts.journal.books.forget(conversation)
                        self._until.pop(conversation, None)
                except StoreFailed as error:
                    log.warning("request_not_forgotten", reason=str(error))
                    return
                queue.popleft()
