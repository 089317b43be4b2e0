"""How a journal in a file is opened and closed: its lock, its thread and its connections have one owner."""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncGenerator, Callable
from contextlib import ExitStack, asynccontextmanager
from functools import partial
from pathlib import Path
from time import time

import structlog
import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.cluster import Cluster
from hookgate.store.alone import Alone
from hookgate.store.files import named
from hookgate.store.journal.audit.anchors import anchor
from hookgate.store.journal.chats import Chats
from hookgate.store.journal.claims import end_claims
from hookgate.store.journal.decisions import Decisions
from hookgate.store.journal.engine import Engine, place
from hookgate.store.journal.engine.clock import Clock
from hookgate.store.journal.engine.file import FileEngine
from hookgate.store.journal.engine.readers import Readers
from hookgate.store.journal.engine.writer import Durability, Writer
from hookgate.store.journal.intake import Intake
from hookgate.store.journal.keys import KnownKeys
from hookgate.store.journal.operators.books import Books, Holds
from hookgate.store.journal.operators.looking import open_look
from hookgate.store.journal.operators.retention import Retention
from hookgate.store.journal.operators.upkeep import Upkeep
from hookgate.store.journal.people import KnownPeople
from hookgate.store.journal.posting import Posting
from hookgate.store.journal.tables import Tables
from hookgate.store.journal.work import Work
from hookgate.store.places import JournalPlace

log = structlog.get_logger("hookgate.store")

SOON_S, ANCHOR_S = 5.0, 60.0
"""How soon after something was stored it is under a checkpoint of the audit chain, and how late at most."""


class StoredJournal:
    """A Journal. `path`: of its file, or what the names of files begin with that belong to it on this machine;
    `place`: where it lies."""

    outlives = True

    def __init__(
        self, path: Path, engine: Engine, place: JournalPlace | None = None, cluster: Cluster | None = None
    ) -> None:
        self.path, self.place, self.engine = path, place or path, engine
        self.cluster = cluster or Alone()
        self.intake = Intake(engine)
        self.work = Work(engine, self.cluster.me)
        self.decisions = Decisions(engine)
        self.posting = Posting(engine)
        self.holds = Holds(engine)
        self.books = Books(path, engine)
        self.chats = Chats(engine)
        self.people = KnownPeople(engine)
        self.keys = KnownKeys(engine)
        self.retention = Retention(engine)
        self.upkeep = Upkeep(engine)


@dataclass(frozen=True, slots=True)
class _Opened:
    path: Path
    connection: sqlite3.Connection
    clock: Clock


@asynccontextmanager
async def open_journal(
    path: Path, durability: Durability = "power", wall: Callable[[], float] = time
) -> AsyncGenerator[StoredJournal]:
    """The journal in this file, which is made where it is missing: for its owner alone, and for one gateway at a
    time. `wall`: seconds of the wall clock.

    Claims of a gateway that is gone are in force no more. Raises StoreFailed and its kinds; the file is then as it
    was. Leaving writes what has been asked for by then.
    """
    with ExitStack() as stack:
        opened = await trio.to_thread.run_sync(_open, stack, path, wall)
        readers = Readers(opened.path, partial(place.look_at, opened.path))
        try:
            async with _open_writer(opened, durability) as writer:
                yield StoredJournal(opened.path, FileEngine(writer, readers, opened.clock))
        finally:
            with trio.CancelScope(shield=True):
                await trio.to_thread.run_sync(readers.close)
                await trio.to_thread.run_sync(_anchor, opened.path)
                await trio.to_thread.run_sync(opened.connection.close)


async def _anchor_soon(path: Path, writer: Writer[Tables], scope: trio.CancelScope) -> None:
    """What was signed cannot be cut off unseen."""
    with scope:
        while True:
            await trio.to_thread.run_sync(_anchor, path)
            # What comes while it is signed is there by then.
            with trio.move_on_after(ANCHOR_S - SOON_S):
                await writer.changed()
            await trio.sleep(SOON_S)


def _anchor(path: Path) -> None:
    """A journal that cannot be signed is used all the same, and says so."""
    try:
        with open_look(path) as tables:
            why = anchor(path, tables)
    except (StoreFailed, OSError) as error:
        log.warning("audit_not_signed", path=str(path), reason=str(error))
        return
    if why:
        log.error("audit_chain_broken", path=str(path), reason=why)


@asynccontextmanager
async def _open_writer(opened: _Opened, durability: Durability) -> AsyncGenerator[Writer[Tables]]:
    """A thread of its own: no other work waits for it, nor it for others."""
    writer = Writer(opened.path, opened.connection, Tables(opened.connection, opened.clock), durability)
    run = partial(trio.to_thread.run_sync, writer.run, limiter=trio.CapacityLimiter(1))
    anchoring = trio.CancelScope()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(run)
        nursery.start_soon(_anchor_soon, opened.path, writer, anchoring)
        try:
            yield writer
        finally:
            anchoring.cancel()
            writer.close()


def _open(stack: ExitStack, path: Path, wall: Callable[[], float]) -> _Opened:
    path = path.resolve()
    stack.enter_context(place.locked(path))
    place.make_journal(path)
    connection = place.open_to_write(path)
    try:
        with named(path):
            clock = Clock(wall, _latest(connection))
            tables = Tables(connection, clock)
            connection.execute("BEGIN IMMEDIATE")
            end_claims(tables)
            tables.run("DELETE FROM holds")
            connection.execute("COMMIT")
    except BaseException:
        connection.close()
        raise
    return _Opened(path, connection, clock)


def _latest(connection: sqlite3.Connection) -> float:
    """A time that was given out late before: where the clock was set back meanwhile, it goes on from here."""
    last = "SELECT {} FROM {} ORDER BY rowid DESC LIMIT 1"
    times = (("accepted_at", "messages"), ("at", "passages"))
    found = [connection.execute(last.format(*it)).fetchall() for it in times]
    return max((at for rows in found for (at,) in rows), default=0.0)
