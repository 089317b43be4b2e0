"""Who lives among the gateways of one database, where conversations belong, and what is to be told: without I/O."""

from __future__ import annotations

from collections.abc import Callable
from hashlib import sha256

import trio

from hookgate.protocol.journal.cluster import CHANGED, Member, Note


class Roll:
    """`me`: the id of this gateway."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.members: tuple[Member, ...] = ()
        self._heard: dict[str, list[Callable[[Note], None]]] = {}
        self._waiting: list[tuple[str, Note]] = []
        self._more = trio.Event()

    def place_of(self, session: str) -> str:
        """The gateway that a conversation belongs to as long as they live: each has its share of them, and few change
        places when one comes or goes."""
        places = [it.id for it in self.members if not it.draining] or [self.me]
        return max(places, key=lambda it: sha256(f"{it} {session}".encode()).digest())

    def meet(self, members: tuple[Member, ...]) -> None:
        """Those that live now. Whoever listens hears of it where that has changed."""
        before, self.members = self.members, members
        if before != members:
            self.heard(Note(CHANGED))

    def tell(self, note: Note, to: str = "") -> None:
        if len(self.members) > 1:
            self._waiting.append((to, note))
            self._more.set()

    def hear(self, kind: str, function: Callable[[Note], None]) -> None:
        self._heard.setdefault(kind, []).append(function)

    def heard(self, note: Note) -> None:
        """Somebody has told it."""
        for function in self._heard.get(note.kind, ()):
            function(note)

    async def news(self) -> list[tuple[str, Note]]:
        """What is to be told, once there is something."""
        await self._more.wait()
        self._more = trio.Event()
        waiting, self._waiting = self._waiting, []
        return waiting
