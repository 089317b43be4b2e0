"""How a journal in PostgreSQL is opened and closed: its connections have one owner."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from secrets import token_hex

import psycopg
import structlog
import trio
from psycopg.generators import notifies

from hookgate.protocol.catalog import StoreBusy, StoreFailed
from hookgate.store.journal.audit.anchors import anchor
from hookgate.store.journal.claims import end_claims
from hookgate.store.journal.opening import SOON_S, StoredJournal
from hookgate.store.journal.operators.books import hold
from hookgate.store.journal.tables import Tables
from hookgate.store.places import Database
from hookgate.store.postgres.engine import SharedEngine
from hookgate.store.postgres.faults import faults_named, said
from hookgate.store.postgres.pool import Pool
from hookgate.store.postgres.schema import SETTINGS, bring_up_to_date
from hookgate.store.postgres.waiting import driven, execute, in_greenlet

log = structlog.get_logger("hookgate.store")

CONNECTIONS = 8
CHANNEL = "hookgate"
GATEWAY = "gateway"
LEASE_S, RENEW_S = 10.0, 2.0
"""How long one that has died is waited for; a live one renews its lease several times in between."""
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
    pool, me = Pool(database.address, connections, SETTINGS), token_hex(8)
    engine = SharedEngine(pool, str(database), wall)
    try:
        with faults_named(str(database)):
            async with pool.connection() as connection:
                await in_greenlet(partial(bring_up_to_date, connection))
            await _come(engine, me)
        try:
            await engine.write(_take_over)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_run_staying, database, engine, me)
                nursery.start_soon(_run_listening, pool, engine)
                nursery.start_soon(_run_telling, pool, engine)
                nursery.start_soon(_run_anchoring, database, engine)
                yield StoredJournal(database.beside, engine, database)
                nursery.cancel_scope.cancel()
        finally:
            with trio.CancelScope(shield=True), suppress(StoreFailed):
                await _anchor(database, engine)
                await engine.write(partial(_go, me))
    finally:
        pool.close()


# --- one gateway at a time ----------------------------------------------------------------------------------


async def _come(engine: SharedEngine, me: str) -> None:
    """Once the lease of one that has died is over. Raises StoreBusy where the other one lives: it renews its own."""
    seen = 0.0
    while not await engine.write(partial(hold, GATEWAY, me, LEASE_S)):
        until = await engine.read(_until)
        if seen and until > seen:
            raise StoreBusy("is in use by another hookgate")
        seen = until
        await trio.sleep(RENEW_S)


async def _run_staying(database: Database, engine: SharedEngine, me: str) -> None:
    """Raises StoreBusy where another one came, which it may once this one was away for as long as its lease."""
    while True:
        await trio.sleep(RENEW_S)
        try:
            stays = await engine.write(partial(hold, GATEWAY, me, LEASE_S))
        except StoreFailed as error:
            log.warning("database_lost", reason=str(error))
            continue
        if not stays:
            raise StoreBusy(f"{database} is in use by another hookgate, which came while this one was away")


def _until(tables: Tables) -> float:
    row = tables.one("SELECT until FROM holds WHERE name = ?", GATEWAY)
    return row[0] if row else 0.0


def _go(me: str, tables: Tables) -> None:
    tables.run("DELETE FROM holds WHERE name = ? AND holder = ?", GATEWAY, me)


def _take_over(tables: Tables) -> None:
    end_claims(tables)
    tables.run("DELETE FROM holds WHERE name <> ?", GATEWAY)


# --- what others hear ---------------------------------------------------------------------------------------


async def _run_listening(pool: Pool, engine: SharedEngine) -> None:
    """What others have written is a hint that there may be something to do."""
    while True:
        try:
            await _listen(pool, engine)
        except psycopg.Error as error:
            log.warning("database_lost", reason=said(error))
        await trio.sleep(AGAIN_S)


async def _listen(pool: Pool, engine: SharedEngine) -> None:
    connection = await pool.open()
    try:
        await execute(connection, f"LISTEN {CHANNEL}")
        while True:
            engine.notify()
            await driven(notifies(connection.pgconn), connection.pgconn.socket)
    finally:
        connection.close()


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
