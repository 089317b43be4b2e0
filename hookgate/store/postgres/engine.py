"""An Engine for PostgreSQL: each step is a transaction on a connection of its own, and is made again where another
one came first or the connection was lost before it was stored."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from functools import partial
from random import random
from typing import TypeVar, cast

import psycopg
import trio
from psycopg import errors

from hookgate.protocol.catalog import StoreFailed
from hookgate.store.journal.tables import Tables
from hookgate.store.postgres.faults import AGAIN, faults_named, passes
from hookgate.store.postgres.pool import Pool
from hookgate.store.postgres.roll import Roll
from hookgate.store.postgres.tables import SharedTables
from hookgate.store.postgres.together import Together
from hookgate.store.postgres.waiting import WaitingConnection, in_greenlet

T = TypeVar("T")
V = TypeVar("V")

TRIES = 8
"""Of one step, where others come first."""
AWAY_S = 10.0
"""How long a database that cannot be reached is waited for, in one call."""
PAUSE_S = 0.05
WRITE = "BEGIN; SELECT extract(epoch FROM clock_timestamp())::float8, pg_current_xact_id()::text"
READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SELECT extract(epoch FROM clock_timestamp())::float8, ''"


class LostWhileCommitting(Exception):
    """The database knows whether it is stored: `xid` names the transaction there, in that `life` of its. `result`:
    what the step came to; `tables`: what it was made with."""

    def __init__(self, xid: str, life: str, result: object, tables: SharedTables) -> None:
        super().__init__(xid)
        self.xid, self.life, self.result, self.tables = xid, life, result, tables


class SharedEngine:
    """`place` names the database for people. `wall`: None takes the database's clock, which all gateways share.
    `roll`: those gateways; None: this one has the journal alone."""

    def __init__(
        self, pool: Pool, place: str, wall: Callable[[], float] | None = None, roll: Roll | None = None
    ) -> None:
        self._pool, self._place, self._wall, self._roll = pool, place, wall, roll
        self._changed = trio.Event()

    async def write(self, act: Callable[[Tables], T], *, barrier: bool = False) -> T:
        """Once it has begun it is waited for, and cancelled by nobody."""
        await trio.lowlevel.checkpoint_if_cancelled()
        shield = trio.CancelScope(shield=True)
        with shield, faults_named(self._place):
            return await self._until_done(partial(self._written, act))
        raise AssertionError("nobody cancels it")

    def together(self, act: Callable[[Tables, Sequence[V]], Sequence[T]]) -> Callable[[V], Awaitable[T]]:
        return Together[V, T](lambda values: self.write(lambda tables: act(tables, values()))).ask

    async def read(self, act: Callable[[Tables], T]) -> T:
        with faults_named(self._place):
            return await self._until_done(partial(self._read, act))

    async def changed(self) -> None:
        await self._changed.wait()

    def _stored(self, tables: SharedTables) -> None:
        if tables.changed:
            self._changed.set()
            self._changed = trio.Event()
        for to, note in tables.notes:
            assert self._roll is not None  # noqa: S101 - nobody else makes notes
            self._roll.tell(note, to)

    async def _until_done(self, step: Callable[[WaitingConnection], T]) -> T:
        deadline, tries, lost = trio.current_time() + AWAY_S, 0, None
        while True:
            try:
                async with self._pool.connection() as connection:
                    if lost is not None and await in_greenlet(partial(_is_stored, connection, lost)):
                        self._stored(lost.tables)
                        return cast("T", lost.result)
                    lost = None
                    return await in_greenlet(partial(step, connection))
            except AGAIN:
                tries += 1
                if tries == TRIES:
                    raise
            except LostWhileCommitting as error:
                lost = error
            except (psycopg.OperationalError, psycopg.InterfaceError) as error:
                if trio.current_time() >= deadline or not passes(error):
                    raise
                self._pool.close()
            await trio.sleep(PAUSE_S * (0.5 + random()))  # noqa: S311 - so that two do not meet again

    def _written(self, act: Callable[[Tables], T], connection: WaitingConnection) -> T:
        now, xid = _begun(connection, WRITE)
        tables = SharedTables(connection, self._wall() if self._wall else now, self._place, self._roll)
        try:
            result = act(tables)
            tables.close()
        except BaseException:
            _roll_back(connection)
            raise
        try:
            connection.execute("COMMIT")
        except (psycopg.OperationalError, psycopg.InterfaceError) as error:
            if connection.closed:
                raise LostWhileCommitting(xid, connection.life, result, tables) from error
            raise
        self._stored(tables)
        return result

    def _read(self, act: Callable[[Tables], T], connection: WaitingConnection) -> T:
        now, _ = _begun(connection, READ)
        try:
            return act(SharedTables(connection, self._wall() if self._wall else now, self._place, self._roll))
        finally:
            _roll_back(connection)


def _begun(connection: WaitingConnection, statement: str) -> tuple[float, str]:
    cursor = connection.execute(statement.encode())
    cursor.nextset()
    [(now, xid)] = cursor.fetchall()
    return now, xid


def _is_stored(connection: WaitingConnection, lost: LostWhileCommitting) -> bool:
    """Raises psycopg.OperationalError while nobody knows yet, and StoreFailed where nobody ever will."""
    same = connection.life == lost.life
    try:
        row = connection.execute("SELECT pg_xact_status(%s::text::xid8)", [lost.xid]).fetchone()
    except errors.InvalidParameterValue:
        # It crashed, or another one stands in for it, and so far no transaction has got there.
        return False
    match row:
        case ("committed",) if same:
            return True
        case ("committed",):
            # What had not come to the disk, or to who stands in, is gone, and its number was given again.
            raise StoreFailed("it crashed while something was being stored: whether that is there nobody knows")
        case ("aborted",):
            return False
        case ("in progress",) if not same:
            return False
        case _:
            raise errors.LockNotAvailable("a transaction whose connection was lost has not ended yet")


def _roll_back(connection: WaitingConnection) -> None:
    if not connection.closed:
        connection.execute("ROLLBACK")
