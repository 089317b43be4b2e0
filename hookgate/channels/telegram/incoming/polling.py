"""The long poll: updates one after the other, each confirmed once it is stored. Never gives up."""

from __future__ import annotations

from collections.abc import Sequence

import structlog
import trio

from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.connection import Connection
from hookgate.channels.telegram.incoming.inbox import Inbox
from hookgate.channels.telegram.incoming.updates import KINDS, number
from hookgate.protocol.catalog import StoreFailed

log = structlog.get_logger("hookgate.telegram")

POLL_S = 50
HELD_PAUSE_S = 0.3
"""Between two polls while an album gathers, since what is not confirmed yet comes again at once; and where a server
does not wait."""


class Polling:
    """`offset`: what was confirmed before; 0: whatever the platform has."""

    def __init__(self, api: Api, inbox: Inbox, connection: Connection, offset: int) -> None:
        self._api, self._inbox, self._connection = api, inbox, connection
        self._offset = offset
        self._done: set[int] = set()
        self._held: set[int] = set()

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                asked_at = trio.current_time()
                try:
                    updates = await self._api.poll(self._offset, self._patience_s, KINDS)
                except ApiFailed as error:
                    await trio.sleep(await self._after(error))
                    continue
                try:
                    await self._take(updates, nursery)
                except StoreFailed as error:
                    await trio.sleep(self._connection.unstored(str(error)))
                    continue
                self._connection.works()
                if self._held or (not updates and trio.current_time() < asked_at + HELD_PAUSE_S):
                    await trio.sleep(HELD_PAUSE_S)
                elif updates and not any(map(number, updates)):
                    # Nothing in it can be confirmed.
                    await trio.sleep(self._connection.failed(ApiFailed(0, "it sends what nobody can read")))

    @property
    def _patience_s(self) -> int:
        """Whether it works at all is asked quickly."""
        return POLL_S if self._connection.state.state == "receiving" and not self._held else 0

    async def _after(self, error: ApiFailed) -> float:
        wait_s = self._connection.failed(error)
        if error.code == 409 and "webhook" in error.why.lower():
            try:
                await self._api.call("deleteWebhook", {})
            except ApiFailed as other:
                return self._connection.failed(other)
        return wait_s

    async def _take(self, updates: Sequence[object], nursery: trio.Nursery) -> None:
        """In order; what has to wait for others waits beside the rest. Raises StoreFailed."""
        for raw in updates:
            at = number(raw)
            if at < self._offset or at in self._done or at in self._held:
                continue
            if self._inbox.is_slow(raw):
                self._held.add(at)
                nursery.start_soon(self._hold, raw, at)
            else:
                # The place that is stored with it: nothing before it is open.
                await self._inbox.take(raw, "" if self._held else str(at + 1))
                self._confirm(at)

    async def _hold(self, raw: object, at: int) -> None:
        try:
            await self._inbox.take(raw, "")
        except StoreFailed as error:
            # It comes again with the next poll.
            log.warning("update_unstored", update=at, reason=str(error))
            self._held.discard(at)
        else:
            self._held.discard(at)
            self._confirm(at)

    def _confirm(self, at: int) -> None:
        """The next poll confirms all before its offset: nothing that waits, nor what follows that."""
        self._done.add(at)
        end = min(self._held, default=max(self._done) + 1)
        self._offset = max(self._offset, end)
        self._done = {it for it in self._done if it >= self._offset}
