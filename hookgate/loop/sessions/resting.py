"""Which conversations nothing happens in: they are let go of, and come back from the journal when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from hookgate.loop.sessions.session import Session


class Resting:
    """`sessions` by key, of which those go that have rested for `idle_s`."""

    def __init__(self, sessions: dict[str, Session], idle_s: float) -> None:
        self._sessions, self._idle_s = sessions, idle_s
        self._since: dict[str, float] = {}
        self._outdated: set[str] = set()

    def outdate(self) -> None:
        """What they are made with has changed: each goes as soon as it rests."""
        self._outdated = set(self._sessions)
        self.look()

    def look(self) -> None:
        now = trio.current_time()
        for key, session in tuple(self._sessions.items()):
            if session.jobs.busy:
                self._since.pop(key, None)
            elif key in self._outdated or now - self._since.setdefault(key, now) >= self._idle_s:
                self._let_go(key)

    def wake(self, key: str) -> None:
        """It is needed, as it would be made now."""
        self._since.pop(key, None)
        if key in self._outdated and not self._sessions[key].jobs.busy:
            self._let_go(key)

    def _let_go(self, key: str) -> None:
        self._sessions.pop(key).close("idle")
        self._since.pop(key, None)
        self._outdated.discard(key)
