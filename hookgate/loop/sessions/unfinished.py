"""What becomes of what is stored and nobody works on: what a crash has left, or another gateway has taken in.

Knows not when it is found.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Generator, Mapping
from contextlib import contextmanager

import structlog
import trio

from hookgate.loop.commands.invoking import Invoking
from hookgate.loop.doors.accepting import Accepting
from hookgate.loop.doors.doors import SHUT_OUT
from hookgate.loop.sessions.jobs import Prompt
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.values import Accepted, ArrivalKind, Unfinished

log = structlog.get_logger("hookgate.loop")

MOST_ARRIVED = 1000


@dataclass(frozen=True)
class Entry:
    """Where it goes. `enter`: a message that has only just come is to be answered; `resume`: one that had come
    before."""

    channels: Mapping[str, Channel]
    shuts_out: Callable[[Inbound], bool]
    enter: Callable[[Prompt], Awaitable[Accepted]]
    resume: Callable[[Prompt], None]


class Left:
    """`invoking` comes with the commands."""

    invoking: Invoking

    def __init__(self, accepting: Accepting, entry: Entry) -> None:
        self._accepting, self._entry = accepting, entry
        self._coming = Counter[str]()
        """Sessions in which something is being stored: what is found there has not been left."""
        self._arrived: dict[str, None] = {}
        """The last messages that came from other gateways: what tells of them may do so again."""
        self._came = trio.Event()

    @contextmanager
    def comes(self, chat: Chat) -> Generator[None]:
        """While something is being stored for it."""
        self._coming[chat.session_key] += 1
        try:
            yield
        finally:
            self._coming -= Counter((chat.session_key,))
            self._came.set()
            self._came = trio.Event()

    async def nothing_comes(self, session: str) -> None:
        """Returns once what is being stored there is, and with whoever answers it."""
        while self._coming[session]:
            await self._came.wait()

    async def take_up(self, left: Unfinished, kind: ArrivalKind, arrives: bool) -> bool:
        """What a crash left, or a shutdown, or a fault of the store; or what `arrives` from another gateway. False:
        that cannot be told yet."""
        chat, out = left.inbound.chat, self._entry.shuts_out(left.inbound)
        if self._coming[chat.session_key]:
            return False
        if chat.channel not in self._entry.channels:
            log.warning("message_without_channel", message=left.accepted.id, channel=chat.channel)
            if kind != "message":
                await self._accepting.settle(left.accepted, "dropped", None)
        elif kind != "message":
            await self.invoking.take_up(left, kind, out=out and not arrives)
        elif out:
            await self._accepting.settle(left.accepted, "refused", None, SHUT_OUT)
        elif arrives:
            await self._arrive(left)
        else:
            self._entry.resume(Prompt(left.inbound, left.accepted))
        return True

    async def _arrive(self, left: Unfinished) -> None:
        id_ = left.accepted.id
        if id_ in self._arrived:
            return
        self._arrived[id_] = None
        if len(self._arrived) > MOST_ARRIVED:
            del self._arrived[next(iter(self._arrived))]
        try:
            await self._entry.enter(Prompt(left.inbound, replace(left.accepted, known=False)))
        except StoreFailed:
            self._arrived.pop(id_, None)
            raise
