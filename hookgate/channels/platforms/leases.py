"""A connection that only one gateway of several may have: had while this one holds its lease. Knows no platform.

It goes to the gateway where its name belongs, or to any other when that one does not come for it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import suppress
from math import inf

import structlog
import trio

from hookgate.channels.platforms.reception import Connecting
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.journal.cluster import CHANGED, LEASE, Cluster, Note, drains, name_of

log = structlog.get_logger("hookgate.channels")

LEAST_S, AGAIN_S = 1.0, 2.0
"""Between two looks; how long one that is free is left to the gateway where it belongs."""


class Lease:
    """`shared`: what the platform brings by itself it may bring to any gateway, whichever has the lease."""

    def __init__(self, cluster: Cluster, name: str, connection: Connecting, *, shared: bool = False) -> None:
        self._cluster, self._name, self._connection = cluster, f"connection {name}", connection
        self._shared = shared
        self._held: trio.CancelScope | None = None
        self._woken = trio.Event()
        for kind in (CHANGED, LEASE):
            cluster.hear(kind, self._hear)

    async def run(self, receive: Callable[[], Awaitable[object]]) -> None:
        """Until cancelled: `receive` goes on for as long as this gateway has the lease, and is ended before another
        one may have it. What it raises leaves as it is, and another gateway tries."""
        while True:
            await self._until_due()
            try:
                await self._hold(receive)
            except StoreFailed as error:
                self._connection.unstored(str(error))
            except Exception:
                await self._give()
                raise
            else:
                await self._give()
            await self._pause()

    async def _hold(self, receive: Callable[[], Awaitable[object]]) -> None:
        with self._cluster.present(), trio.CancelScope() as self._held:
            try:
                if await self._cluster.take(self._name):
                    self._connection.takes_over()
                    await receive()
            finally:
                self._held = None
        if not self._shared:
            self._connection.lets_go()

    async def _give(self) -> None:
        with suppress(StoreFailed):
            await self._cluster.give(self._name)
        self._cluster.tell(Note(LEASE, self._name))

    async def _until_due(self) -> None:
        """Until this gateway may take it."""
        me, free_since = self._cluster.me, inf
        while True:
            try:
                holder = await self._cluster.holder(self._name)
            except StoreFailed as error:
                self._connection.unstored(str(error))
            else:
                belongs = self._cluster.place_of(self._name) == me
                free_since = min(free_since, trio.current_time()) if holder in ("", me) else inf
                waited = trio.current_time() - free_since >= AGAIN_S
                if free_since < inf and (belongs or (waited and not drains(self._cluster))):
                    return
                if holder not in ("", me):
                    self._is_at(holder)
                    if belongs:
                        self._cluster.tell(Note(LEASE, self._name), holder)
            await self._pause()

    def _is_at(self, holder: str) -> None:
        if self._shared:
            self._connection.works()
        else:
            self._connection.elsewhere(name_of(self._cluster, holder))

    async def _pause(self) -> None:
        with trio.move_on_after(AGAIN_S):
            await trio.sleep(LEAST_S)
            await self._woken.wait()
        self._woken = trio.Event()

    def _hear(self, note: Note) -> None:
        if note.kind == LEASE and note.session != self._name:
            return
        self._woken.set()
        wanted = note.kind == LEASE or drains(self._cluster)
        if self._held is not None and wanted and self._cluster.place_of(self._name) != self._cluster.me:
            log.info("connection_given", name=self._name)
            self._held.cancel()
