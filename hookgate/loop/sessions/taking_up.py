"""What is stored and nobody works on: what an earlier run has left, and what a fault of the store leaves behind.

Knows when to look, and not what becomes of what is found.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from math import inf
from typing import Protocol

import structlog
import trio

from hookgate.processes.backoff import backoff_s
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.interfaces import Intake
from hookgate.protocol.journal.values import ArrivalKind, Unfinished

log = structlog.get_logger("hookgate.loop")

KINDS: tuple[ArrivalKind, ...] = ("decision", "command", "message")
FIRST_S, LONGEST_S = 1.0, 60.0


class Taking(Protocol):
    async def take_up(self, left: Unfinished, kind: ArrivalKind, arrives: bool) -> bool:
        """`arrives`: it has only just come, to another gateway; it is left by nobody. False: that cannot be told
        before `nothing_comes`, and it is to be found again."""
        ...

    async def nothing_comes(self, session: str) -> None: ...


class TakingUp:
    """`begun` is set once all that was left has been seen: nothing comes in before, so that nothing is seen as left
    that has only just come."""

    def __init__(self, intake: Intake, taking: Taking) -> None:
        self.begun = trio.Event()
        self._intake, self._taking = intake, taking
        self._stirred = trio.Event()

    async def begin(self) -> None:
        """What people decided is decided first. What the store does not take now is taken up once it works."""
        try:
            await self._look()
        except StoreFailed as error:
            log.warning("store_fails_still", why=str(error), tries=0)
            self.look_soon()
        self.begun.set()

    async def look_now(self, session: str = "") -> None:
        """There may be more than was told: of this session, which has only just come to another gateway; else of what
        those that are gone have left."""
        try:
            await self._look(session, arrives=bool(session))
        except StoreFailed as error:
            log.warning("store_fails_still", why=str(error), tries=0)
            self.look_soon()

    def look_soon(self) -> None:
        """There is a message that nobody works on: the store has failed who did, or it was a dead letter."""
        self._stirred.set()

    async def run(self, let_go: Callable[[], Awaitable[None]]) -> None:
        """Where the store has failed: look again, later each time, until all is in a queue. `let_go`: of what those
        hold still who could not say so; it raises where the store does not work yet."""
        tries = 0
        while True:
            with trio.move_on_after(2 * LONGEST_S if tries else inf) as quiet:
                await self._stirred.wait()
            if quiet.cancelled_caught:
                tries = 0
                continue
            self._stirred, tries = trio.Event(), tries + 1
            await trio.sleep(backoff_s(tries, FIRST_S, LONGEST_S))
            try:
                await let_go()
                await self._look()
            except Exception as error:
                log.warning("store_fails_still", why=str(error), tries=tries)
                self.look_soon()

    async def _look(self, session: str = "", *, arrives: bool = False) -> None:
        """Raises StoreFailed where the store has not taken something; what fails for another reason is for the next
        start."""
        refused: StoreFailed | None = None
        again = dict[str, None]()
        for kind in KINDS:
            for left in await self._intake.unfinished(kind, session):
                try:
                    if not await self._taking.take_up(left, kind, arrives):
                        again[left.inbound.chat.session_key] = None
                except StoreFailed as error:
                    refused = error
                except Exception:
                    log.exception("not_taken_up", message=left.accepted.id, kind=kind)
        if refused is not None:
            raise refused
        for it in again:
            await self._taking.nothing_comes(it)
            await self._look(it, arrives=arrives)
