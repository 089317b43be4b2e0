"""How a journal in PostgreSQL is opened and closed: its connections have one owner."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from secrets import token_hex

import structlog
import trio

from hookgate.protocol.catalog import StoreBusy, StoreFailed
from hookgate.store.files import make_folder
from hookgate.store.journal.audit.anchors import anchor
from hookgate.store.journal.claims import end_claims
from hookgate.store.journal.opening import SOON_S, StoredJournal
from hookgate.store.journal.operators.books import hold
from hookgate.store.journal.tables import Tables
from hookgate.store.places import Database
from hookgate.store.postgres.cluster import (
    Beats,
    SharedCluster,
    come,
    go,
    run_beating,
    run_following,
)
from hookgate.store.postgres.engine import SharedEngine
from hookgate.store.postgres.faults import faults_named
from hookgate.store.postgres.notes import run_listening, run_telling
from hookgate.store.postgres.pool import Pool
from hookgate.store.postgres.roll import Roll
from hookgate.store.postgres.schema import SETTINGS, bring_up_to_date
from hookgate.store.postgres.waiting import in_greenlet

log = structlog.get_logger("hookgate.store")

CONNECTIONS = 8
ALONE = "gateway"
"""What whoever has the journal alone holds."""
LEASE_S, RENEW_S = 10.0, 2.0
"""How long one that has died is waited for; a live one renews its lease several times in between."""
COMING = 0x636F6D65
"""The lock of whoever comes."""
HELD_ALONE = f"SELECT holder, until FROM holds WHERE name = '{ALONE}'"  # noqa: S608 - a constant
HELD = f"{HELD_ALONE} UNION ALL SELECT id, beat FROM gateways"  # noqa: S608


@asynccontextmanager
async def open_postgres_journal(
    database: Database,
    *,
    connections: int = CONNECTIONS,
    wall: Callable[[], float] | None = None,
    shared: bool = False,
) -> AsyncGenerator[StoredJournal]:
    """The journal in this database, where it is made if it is missing: alone, or `shared` with other gateways. Claims
    of one that is gone are in force no more. Raises StoreFailed and its kinds, StoreBusy where another one has it."""
    pool, cluster = Pool(database.address, connections, SETTINGS), SharedCluster(token_hex(8))
    engine = cluster.engine = SharedEngine(pool, str(database), wall, cluster if shared else None)
    make_folder(database.beside.parent)
    try:
        with faults_named(str(database)):
            async with pool.connection() as connection:
                await in_greenlet(partial(bring_up_to_date, connection))
        async with _among_others(pool, cluster) if shared else _alone(engine, cluster.me, str(database)):
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_run_anchoring, database, engine)
                yield StoredJournal(database.beside, engine, database, cluster if shared else None)
                nursery.cancel_scope.cancel()
            with trio.CancelScope(shield=True), suppress(StoreFailed):
                await _anchor(database, engine)
    finally:
        pool.close()


# --- among others -------------------------------------------------------------------------------------------


@asynccontextmanager
async def _among_others(pool: Pool, cluster: SharedCluster) -> AsyncGenerator[None]:
    """Raises StoreBusy where somebody has the journal alone."""
    engine = cluster.engine
    while not await engine.write(partial(_come, cluster.me)):
        await _until_gone(engine, HELD_ALONE)
    try:
        async with trio.open_nursery() as nursery:
            for run in (partial(run_listening, pool), partial(run_beating, engine)):
                await nursery.start(_begun, run, cluster)
            nursery.start_soon(run_telling, pool, cluster)
            nursery.start_soon(run_following, cluster)
            yield
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True), suppress(StoreFailed):
            await engine.write(partial(go, cluster.me))


async def _begun(
    run: Callable[[Roll, Callable[[], None]], Awaitable[None]],
    roll: Roll,
    task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED,
) -> None:
    first = iter((task_status.started,))
    await run(roll, lambda: next(first, lambda: None)())


def _come(me: str, tables: Tables) -> bool:
    tables.one("SELECT pg_advisory_xact_lock(?)", COMING)
    if tables.one(HELD_ALONE):
        return False
    come(me, tables)
    return True


# --- alone --------------------------------------------------------------------------------------------------


@asynccontextmanager
async def _alone(engine: SharedEngine, me: str, place: str) -> AsyncGenerator[None]:
    """Once the lease of one that has died is over. Raises StoreBusy where the other one lives."""
    while not await engine.write(partial(_hold_alone, me)):
        await _until_gone(engine, HELD)
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(_run_staying, engine, me, place)
            yield
            nursery.cancel_scope.cancel()
    finally:
        with trio.CancelScope(shield=True), suppress(StoreFailed):
            sql = "DELETE FROM holds WHERE name = ? AND holder = ?"
            await engine.write(lambda tables: tables.run(sql, ALONE, me))


def _hold_alone(me: str, tables: Tables) -> bool:
    tables.one("SELECT pg_advisory_xact_lock(?)", COMING)
    if tables.one("SELECT 1 FROM gateways") or not hold(ALONE, me, LEASE_S, tables):
        return False
    end_claims(tables)
    tables.run("DELETE FROM holds WHERE name <> ?", ALONE)
    return True


async def _until_gone(engine: SharedEngine, holders: str) -> None:
    """Until those that have it have shown no sign of life for as long as a lease. Raises StoreBusy: one has."""
    beats, seen = Beats(), dict[str, float]()
    while True:
        rows = await engine.read(lambda tables: tables.all(holders))
        signs = {id_: float(sign) for id_, sign in rows}
        if any(seen.get(id_, sign) != sign for id_, sign in signs.items()):
            raise StoreBusy("is in use by another hookgate")
        seen = signs
        gone = beats.silent(signs, trio.current_time())
        for id_ in gone:
            await engine.write(partial(go, id_))
        if len(gone) == len(signs):
            return
        await trio.sleep(RENEW_S)


async def _run_staying(engine: SharedEngine, me: str, place: str) -> None:
    """Raises StoreBusy where another one came, which it may once this one was away for as long as its lease."""
    while True:
        await trio.sleep(RENEW_S)
        try:
            stays = await engine.write(partial(hold, ALONE, me, LEASE_S))
        except StoreFailed as error:
            log.warning("database_lost", reason=str(error))
            continue
        if not stays:
            raise StoreBusy(f"{place} is in use by another hookgate, which came while this one was away")


# --- what is signed -----------------------------------------------------------------------------------------


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
