"""The long poll: updates of each chat one after the other, chats side by side, each confirmed once it is stored.

Never gives up.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from functools import partial

import structlog
import trio

from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.connection import Connection
from hookgate.channels.telegram.incoming.inbox import Inbox
from hookgate.channels.telegram.incoming.updates import KINDS, chat_of, number
from hookgate.protocol.catalog import StoreFailed

log = structlog.get_logger("hookgate.telegram")

POLL_S = 50
PAUSE_S = 0.3
"""Between two polls while something is not stored yet, since that comes again at once; and where a server does not
wait."""


class Polling:
    """`place`: where it was before, as `take` was told; empty: whatever the platform has. No more than one answer's
    updates are held: what follows them is asked for once they are stored."""

    def __init__(self, api: Api, inbox: Inbox, connection: Connection, place: str) -> None:
        self._api, self._inbox, self._connection = api, inbox, connection
        offset, _, server = place.partition(" ")
        # Each server has numbers of its own.
        self._offset = int(offset) if server == api.server else 0
        self._done: set[int] = set()
        self._open: set[int] = set()
        """Those that have come and are not stored; `_taken`: of these the ones that somebody is at."""
        self._taken: set[int] = set()
        self._lanes: dict[str, deque[object]] = {}
        self._rest = trio.Event()
        self._unstored = ""

    async def run(self) -> None:
        """Until cancelled."""
        async with trio.open_nursery() as nursery:
            while True:
                asked_at, self._unstored = trio.current_time(), ""
                try:
                    updates = await self._api.poll(self._offset, self._patience_s, KINDS)
                except ApiFailed as error:
                    await trio.sleep(await self._after(error))
                    continue
                self._queue(updates, nursery)
                with trio.move_on_after(PAUSE_S):
                    await self._rest.wait()
                if self._unstored:
                    await trio.sleep(self._connection.unstored(self._unstored))
                    continue
                self._connection.works()
                if not updates and trio.current_time() < asked_at + PAUSE_S:
                    await trio.sleep(PAUSE_S)

    @property
    def _patience_s(self) -> int:
        """Whether it works at all is asked quickly."""
        return POLL_S if self._connection.state.state == "receiving" and not self._open else 0

    async def _after(self, error: ApiFailed) -> float:
        wait_s = self._connection.failed(error)
        if error.code == 409 and "webhook" in error.why.lower():
            try:
                await self._api.call("deleteWebhook", {})
            except ApiFailed as other:
                return self._connection.failed(other)
        return wait_s

    def _queue(self, updates: Sequence[object], nursery: trio.Nursery) -> None:
        numbers = [at for at in map(number, updates) if at]
        if numbers and max(numbers) < self._offset and not self._taken:
            # The platform begins anew, as it may after a week of silence. What came before is known by its message.
            log.info("updates_begin_anew", offset=self._offset, now=min(numbers))
            self._offset = min(numbers)
            self._done.clear()
            self._open.clear()
        # What the platform has given up comes no more.
        self._open = {at for at in self._open if at in self._taken or at >= min(numbers, default=0)}
        self._rest = trio.Event()
        for raw in updates:
            at = number(raw)
            if at < self._offset or at in self._done or at in self._taken:
                continue
            self._open.add(at)
            self._taken.add(at)
            lane = chat_of(raw) + self._inbox.lane(raw)
            if self._inbox.expects_more(raw):
                # The parts of an album wait for each other.
                nursery.start_soon(partial(self._take, raw, is_part=True))
            elif lane in self._lanes:
                self._lanes[lane].append(raw)
            else:
                self._lanes[lane] = deque([raw])
                nursery.start_soon(self._work_off, lane)
        self._settle()

    async def _work_off(self, lane: str) -> None:
        queue = self._lanes[lane]
        while queue:
            if not await self._take(queue.popleft()):
                # In order: they all come again.
                self._taken -= {number(raw) for raw in queue}
                queue.clear()
        del self._lanes[lane]
        self._settle()

    async def _take(self, raw: object, *, is_part: bool = False) -> bool:
        """Whether it is dealt with."""
        at = number(raw)
        try:
            await self._inbox.take(raw, self._place(at, is_part=is_part))
        except StoreFailed as error:
            self._unstored = str(error)
            return False
        else:
            self._done.add(at)
            self._open.discard(at)
            return True
        finally:
            self._taken.discard(at)
            self._settle()

    def _place(self, at: int, *, is_part: bool) -> str:
        """What is stored with an update as the place after it: all before that is dealt with. An album is stored
        with its first part: the others come again with that."""
        place = at + 1 if at and at == min(self._open) and not is_part else self._offset
        return f"{place} {self._api.server}" if place else ""

    def _settle(self) -> None:
        """The next poll confirms all before its offset."""
        self._offset = max(self._offset, min(self._open, default=max(self._done, default=-1) + 1))
        self._done = {it for it in self._done if it >= self._offset}
        if not self._taken:
            self._rest.set()
