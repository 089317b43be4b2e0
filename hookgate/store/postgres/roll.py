"""Who lives among the gateways of one database, where conversations belong, and what is to be told: without I/O."""

from __future__ import annotations

from collections import deque
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from hashlib import sha256

import trio

from hookgate.protocol.journal.cluster import ALTERED, CHANGED, Member, Note

MOST_WAITING = 10_000
"""Notes that wait while the database is away; then the oldest are lost. What they told of is found by looking, or
missed by its number, or was not answered in time."""


class Roll:
    """`me`: the id of this gateway."""

    def __init__(self, me: str) -> None:
        self.me = me
        self.members: tuple[Member, ...] = ()
        self.hushed: Sequence[str] = ()
        """Those of which nothing has been seen for a while: what is given to others now is not given to them."""
        self.description, self.written = "", ""
        """What this one says of itself, and what of that stands in its row."""
        self._heard: dict[str, list[Callable[[Note], None]]] = {}
        self._waiting = deque[tuple[str, Note]](maxlen=MOST_WAITING)
        self._more = trio.Event()
        self._present: set[trio.CancelScope] = set()
        self._seen_until = 0.0
        self._followed: dict[str, list[Callable[[], Awaitable[object]]]] = {}
        self._stale: set[str] = set()
        self._staler = trio.Event()

    def place_of(self, name: str) -> str:
        """The gateway that a conversation, or a lease, belongs to as long as they live: each has its share of them,
        and few change places when one comes or goes."""
        places = [it.id for it in self.members if not it.draining and it.id not in self.hushed] or [self.me]
        return max(places, key=lambda it: sha256(f"{it} {name}".encode()).digest())

    @contextmanager
    def present(self) -> Generator[None]:
        """What runs inside ends when this gateway has not been seen for so long that it may be taken for gone."""
        with trio.CancelScope(deadline=self._seen_until) as scope:
            self._present.add(scope)
            try:
                yield
            finally:
                self._present.discard(scope)

    def seen(self, until: float) -> None:
        """The others know that it lives, and do not bury it before then, in seconds of trio's clock."""
        self._seen_until = until
        for scope in self._present:
            scope.deadline = until

    def buried(self) -> None:
        """The others have taken over what it had."""
        for scope in self._present:
            scope.cancel()

    def meet(self, members: tuple[Member, ...]) -> None:
        """Those that live now. Whoever listens hears of it where that has changed."""
        before, self.members = self.members, members
        if before != members:
            self.heard(Note(CHANGED))

    def describe(self, text: str) -> None:
        self.description = text

    def tell(self, note: Note, to: str = "") -> None:
        # One that has only just come may ask before it was seen here.
        if to or len(self.members) > 1:
            self._waiting.append((to, note))
            self._more.set()

    def hear(self, kind: str, function: Callable[[Note], None]) -> None:
        self._heard.setdefault(kind, []).append(function)

    def heard(self, note: Note) -> None:
        """Somebody has told it."""
        if note.kind in (ALTERED, CHANGED):
            self._stale.update([note.session] if note.kind == ALTERED else self._followed)
            self._staler.set()
        for function in self._heard.get(note.kind, ()):
            function(note)

    async def news(self) -> list[tuple[str, Note]]:
        """What is to be told, once there is something."""
        await self._more.wait()
        self._more = trio.Event()
        waiting = list(self._waiting)
        self._waiting.clear()
        return waiting

    # --- what each of them has in memory ---

    def altered(self, name: str) -> None:
        self.tell(Note(ALTERED, name))

    def follow(self, name: str, load: Callable[[], Awaitable[object]]) -> None:
        self._followed.setdefault(name, []).append(load)

    async def stale(self) -> list[Callable[[], Awaitable[object]]]:
        """What is to be read again, once there is something."""
        await self._staler.wait()
        self._staler = trio.Event()
        stale, self._stale = self._stale, set[str]()
        return [load for name in stale for load in self._followed.get(name, ())]
