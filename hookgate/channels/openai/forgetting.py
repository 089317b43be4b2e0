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

KEY_S = 86_400.0
"""So long a client can name a request again by its key."""
LOOK_S = 60.0
MOST = 100_000


class Forgetting:
    def __init__(self, channel: str, parts: OpenAIParts) -> None:
        self._channel, self._parts = channel, parts
        # With when each may go, the first to go first.
        self._soon, self._later = deque[tuple[float, Conversation]](), deque[tuple[float, Conversation]]()

    def forget(self, conversation: Conversation, *, keyed: bool) -> None:
        """Once nobody can ask for it again."""
        if keyed:
            self._later.append((time() + KEY_S, conversation))
        else:
            self._soon.append((time() + REPEATED_S, conversation))

    async def run(self) -> None:
        """Until cancelled. What earlier runs have left is counted from when it was used last."""
        try:
            for row in reversed(await self._parts.journal.chats.listed(f"{self._channel}:", most=MOST)):
                if f"/{ALONE}" in row.conversation.session:
                    self._later.append((row.last_at + KEY_S, row.conversation))
        except StoreFailed as error:
            log.warning("requests_not_listed", reason=str(error))
        while True:
            await self._look()
            await trio.sleep(LOOK_S)

    async def _look(self) -> None:
        for due in (self._soon, self._later):
            while due and due[0][0] <= time():
                try:
                    await self._parts.journal.books.forget(due[0][1])
                except StoreFailed as error:
                    log.warning("request_not_forgotten", reason=str(error))
                    return
                due.popleft()
