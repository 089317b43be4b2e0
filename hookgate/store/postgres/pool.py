"""Connections to one database: a few, opened when they are needed, dropped when they are broken."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial

import trio
from psycopg.pq import TransactionStatus

from hookgate.store.postgres.waiting import WaitingConnection, execute, in_greenlet

LIFE = """
    SELECT concat_ws(' ', pg_postmaster_start_time(), (
        SELECT min(pid) FROM pg_stat_activity WHERE backend_type = 'checkpointer'
    ))
"""
"""After a crash of one of its processes the server itself goes on, with new ones."""


class Pool:
    """`address`: a connection string of libpq; what it leaves out comes from the environment (PGPASSWORD, ...).
    `settings`: statements that each connection begins with."""

    def __init__(self, address: str, most: int, settings: tuple[str, ...]) -> None:
        self._address, self._settings = address, settings
        self._limiter = trio.CapacityLimiter(most)
        self._idle: list[WaitingConnection] = []

    @asynccontextmanager
    async def connection(self) -> AsyncGenerator[WaitingConnection]:
        """One that nobody else uses meanwhile. Raises psycopg.Error where the database cannot be reached."""
        async with self._limiter:
            connection = self._idle.pop() if self._idle else await self.open()
            try:
                yield connection
            finally:
                if connection.pgconn.transaction_status == TransactionStatus.IDLE:
                    self._idle.append(connection)
                else:
                    connection.close()

    async def open(self) -> WaitingConnection:
        """One that is not kept."""
        connection = await WaitingConnection.opened(self._address)
        try:
            for statement in self._settings:
                await execute(connection, statement)
            found = partial(connection.execute, LIFE)
            [connection.life] = await in_greenlet(lambda: found().fetchone()) or ("",)
        except BaseException:
            connection.close()
            raise
        return connection

    def close(self) -> None:
        """Those that nobody uses: at the end, and where the database was away, so that they are broken."""
        while self._idle:
            self._idle.pop().close()
