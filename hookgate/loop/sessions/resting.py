"""Which conversations something happens in: they keep their claims. The others are let go of, and come back from the
journal when they are needed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import structlog
import trio

from hookgate.loop.sessions.claims import LEASE_S
from hookgate.protocol.catalog import StoreFailed

if TYPE_CHECKING:
    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.loop")


class Resting:
    """`sessions` by key, of which those go that have rested for `idle_s`."""

    def __init__(self, sessions: dict[str, Session], idle_s: float) -> None:
        self._sessions, self._idle_s = sessions, idle_s
        self._since: dict[str, float] = {}
        self._outdated: set[str] = set()

    async def run(self) -> None:
        """Until cancelled."""
        while True:
            await trio.sleep(LEASE_S / 3)
            for session in [it for it in self._sessions.values() if it.busy]:
                try:
                    await session.renew_lease()
                except StoreFailed as error:
                    log.warning("lease_not_renewed", session=session.key, why=str(error))
                except Exception:
                    log.exception("lease_not_renewed", session=session.key)
            self.look()

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

    def rest(self, key: str) -> None:
        """Nothing more is said there for now."""
        if key in self._sessions and not self._sessions[key].jobs.busy:
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
