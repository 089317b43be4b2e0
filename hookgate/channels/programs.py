"""Programs that ask over JSON-RPC, as a channel: what they are sent is in the journal, where they fetch it, and
whoever waits is woken. Knows no request."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import trio

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import PRESENT, UNLIMITED, unwatched
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested, TurnEnd, TurnStart

NAME = "rpc"
OBSERVED = tuple(kind.kind for kind in (TurnStart, TurnEnd, ApprovalRequested, ApprovalDecided))


class Bell:
    """Rings for one that waits; what rang before it listens counts."""

    def __init__(self) -> None:
        self._rung = trio.Event()

    def ring(self) -> None:
        self._rung.set()

    async def wait(self) -> None:
        await self._rung.wait()
        self._rung = trio.Event()


class ProgramChannel:
    """`bell`: what happens in any conversation rings it, of this channel or another."""

    name, limits, state = NAME, UNLIMITED, PRESENT
    observed = OBSERVED

    def __init__(self) -> None:
        self.watching = unwatched
        self._bells: dict[str, set[Bell]] = {}

    @contextmanager
    def bell(self, session: str) -> Generator[Bell]:
        bell = Bell()
        self._bells.setdefault(session, set()).add(bell)
        try:
            with self.watching(session):
                yield bell
        finally:
            bells = self._bells[session]
            bells.discard(bell)
            if not bells:
                del self._bells[session]

    def hear(self, event: Event) -> None:
        if event.step is not None:
            self._ring(event.step.session_key)

    def missed(self, session: str) -> None:
        self._ring(session)

    async def send(self, outbound: Outbound, key: str) -> str:
        await trio.lowlevel.checkpoint()
        self._ring(outbound.chat.session_key)
        return key

    def stream(self, chat: Chat, text: str) -> None:
        """Whoever waits is given the whole answer."""

    def end_stream(self, chat: Chat) -> None:
        """Whoever waits is given the whole answer."""

    def restart_stream(self, chat: Chat) -> None:
        """Whoever waits is given the whole answer."""

    def _ring(self, session: str) -> None:
        for bell in self._bells.get(session, ()):
            bell.ring()
