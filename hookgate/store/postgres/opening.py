"""How a journal in PostgreSQL is opened and closed: its connections have one owner."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial

import psycopg
import structlog
import trio
from psycopg.generators import notifies

from hookgate.protocol.catalog import StoreBusy, StoreFailed
from hookgate.store.journal.audit.anchors import anchor
from hookgate.store.journal.claims import end_claims
from hookgate.store.journal.opening import SOON_S, StoredJournal
from hookgate.store.journal.tables import Tables
from hookgate.store.places import Database
from hookgate.store.postgres.engine import SharedEngine
from hookgate.store.postgres.faults import faults_named, said
from hookgate.store.postgres.pool import Pool
from hookgate.store.postgres.schema import SETTINGS, bring_up_to_date
from hookgate.store.postgres.waiting import Waiting, driven, execute, in_greenlet

log = structlog.get_logger("hookgate.store")

CONNECTIONS = 8
CHANNEL = "hookgate"
GATEWAY = 0x67617465
"""The lock of the one gateway."""
TELLING_S = 0.02
"""Between two hints to others."""
AGAIN_S = 1.0
"""Before one that listens is opened again; meanwhile everything may have changed."""


@asynccontextmanager
async def open_postgres_journal(
    database: Database, *, connections: int = CONNECTIONS, wall: Callable[[], float] | None = None
) -> AsyncGenerator[StoredJournal]:
    """The journal in this database, where it is made if it is missing: for one gateway at a time. Claims of one that
    is gone are in force no more. Raises StoreFailed and its kinds, StoreBusy where another gateway has it."""
    pool = Pool(database.address, connections, SETTINGS)
    engine = SharedEngine(pool, str(database), wall)
    try:
        with faults_named(str(database)):
            async with pool.connection() as connection:
                await in_greenlet(partial(bring_up_to_date, connection))
            held = await _held(pool)
        await engine.write(_take_over)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_listening, database, pool, engine, held)
            nursery.start_soon(_run_telling, pool, engine)
            nursery.start_soon(_run_anchoring, database, engine)
            yield StoredJournal(database.beside, engine, database)
            nursery.cancel_scope.cancel()
        with trio.CancelScope(shield=True):
            await _anchor(database, engine)
    finally:
        pool.close()


def _take_over(tables: Tables) -> None:
    end_claims(tables)
    tables.run("DELETE FROM holds")


async def _held(pool: Pool) -> Waiting:
    """A connection that holds the right to be the gateway, and hears what others write. Raises StoreBusy."""
    connection = await pool.open()
    try:
        row = await in_greenlet(lambda: connection.execute("SELECT pg_try_advisory_lock(%s)", [GATEWAY]).fetchone())
        if row != (True,):
            raise StoreBusy("is in use by another hookgate")
        await execute(connection, f"LISTEN {CHANNEL}")
    except BaseException:
        connection.close()
        raise
    return connection


async def _run_listening(database: Database, pool: Pool, engine: SharedEngine, held: Waiting) -> None:
    """What others have written is a hint that there may be something to do. Raises StoreBusy where another gateway
    came while the database was away."""
    while True:
        try:
            while True:
                engine.notify()
                await driven(notifies(held.pgconn), held.pgconn.socket)
        except psycopg.Error as error:
            log.warning("database_lost", reason=said(error))
        finally:
            held.close()
        with faults_named(str(database)):
            held = await _held_again(pool)


async def _held_again(pool: Pool) -> Waiting:
    while True:
        await trio.sleep(AGAIN_S)
        with suppress(psycopg.Error):
            return await _held(pool)


async def _run_anchoring(database: Database, engine: SharedEngine) -> None:
    """What was signed cannot be cut off unseen."""
    while True:
        await engine.changed()
        await trio.sleep(SOON_S)
        await _anchor(database, engine)


async def _anchor(database: Database, engine: SharedEngine) -> None:
    """A journal that cannot be signed is used all the same, and says so."""
    try:
        why = await engine.read(partial(anchor, database.beside))
    except (StoreFailed, OSError) as error:
        log.warning("audit_not_signed", place=str(database), reason=str(error))
        return
    if why:
        log.error("audit_chain_broken", place=str(database), reason=why)


async def _run_telling(pool: Pool, engine: SharedEngine) -> None:
    """Others are told together, and not in the transactions: those that tell something wait for each other."""
    while True:
        await engine.news()
        with suppress(psycopg.Error):
            async with pool.connection() as connection:
                await execute(connection, f"NOTIFY {CHANNEL}")
        await trio.sleep(TELLING_S)
