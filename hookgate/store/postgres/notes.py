"""What gateways on one database tell each other: by its notifications, long ones by reference. A note may be lost."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import partial
from typing import cast

import psycopg
import structlog
import trio
from psycopg.generators import notifies

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.journal.cluster import CHANGED, Note
from hookgate.protocol.values import Json
from hookgate.store.journal.tables import Tables
from hookgate.store.postgres.faults import said
from hookgate.store.postgres.pool import Pool
from hookgate.store.postgres.roll import Roll
from hookgate.store.postgres.waiting import WaitingConnection, driven, execute, in_greenlet

log = structlog.get_logger("hookgate.store")

TELLING_S = 0.005
"""Between two notifications, so that those of many steps go together."""
AGAIN_S = 1.0
"""Before one that listens is opened again."""
QUIET_S = 5.0
"""Before one that hears nothing asks whether anybody is there; how long it waits for the answer."""
CHANNEL = "hookgate"
MOST_BYTES = 7500
"""Of one notification; PostgreSQL takes 8,000. What is longer goes by reference."""
KEPT_S = 60.0
"""How long what goes by reference can be fetched."""


def forget_notes(tables: Tables) -> None:
    """Those that nobody can want any more."""
    tables.run("DELETE FROM notes WHERE at < ?", tables.clock() - KEPT_S)


async def run_telling(pool: Pool, roll: Roll) -> None:
    """Apart from the transactions: those that tell something wait for each other. What cannot be told now is told
    later."""
    while True:
        waiting = await roll.news()
        while waiting:
            try:
                async with pool.connection() as connection:
                    await in_greenlet(partial(_told, connection, roll.me, waiting))
                waiting = []
            except psycopg.Error as error:
                log.warning("others_not_told", reason=said(error))
                await trio.sleep(AGAIN_S)
                await _make_room(pool)
        await trio.sleep(TELLING_S)


async def _make_room(pool: Pool) -> None:
    """A queue that was full stays so, also when all have heard what is in it: PostgreSQL clears it where something is
    added, or somebody asks how full it is."""
    with suppress(psycopg.Error):
        async with pool.connection() as connection:
            await execute(connection, "SELECT pg_notification_queue_usage()")


def _told(connection: WaitingConnection, me: str, waiting: list[tuple[str, Note]]) -> None:
    for text in _packed(connection, me, waiting):
        connection.execute("SELECT pg_notify(%s, %s)", [CHANNEL, text])


def _packed(connection: WaitingConnection, me: str, waiting: list[tuple[str, Note]]) -> Iterator[str]:
    """As many in one as fit."""
    notes: list[bytes] = []
    for to, note in waiting:
        body = encode([me, to, note.kind, note.session, note.body])
        if len(body) > MOST_BYTES:
            sql = "INSERT INTO notes (at, body) VALUES (extract(epoch FROM clock_timestamp()), %s) RETURNING number"
            row = connection.execute(sql, [body]).fetchone()
            body = encode(row[0] if row else 0)
        if sum(map(len, notes)) + len(notes) + len(body) > MOST_BYTES:
            yield _list(notes)
            notes = []
        notes.append(body)
    if notes:
        yield _list(notes)


def _list(notes: list[bytes]) -> str:
    return f"[{b','.join(notes).decode('utf-8', 'backslashreplace')}]"


async def run_listening(pool: Pool, roll: Roll, started: Callable[[], None]) -> None:
    while True:
        try:
            await _listen(pool, roll, started)
        except psycopg.Error as error:
            log.warning("database_lost", reason=said(error))
        except trio.TooSlowError:
            log.warning("database_lost", reason=f"no answer for {QUIET_S:g} s")
        await trio.sleep(AGAIN_S)


async def _listen(pool: Pool, roll: Roll, started: Callable[[], None]) -> None:
    connection = await pool.open()
    try:
        await execute(connection, f"LISTEN {CHANNEL}")
        started()
        # What was told before nobody has heard.
        roll.heard(Note(CHANGED))
        told = deque[psycopg.Notify]()
        connection.add_notify_handler(told.append)
        while True:
            with trio.move_on_after(QUIET_S) as quiet:
                await driven(notifies(connection.pgconn), connection.pgconn.socket)
            if quiet.cancelled_caught:
                # Where the way there is gone, nothing else says so.
                with trio.fail_after(QUIET_S):
                    await execute(connection, "SELECT")
            while told:
                for item in _items(told.popleft().payload):
                    _hear(roll, await _fetched(pool, item) if isinstance(item, int) else item)
    finally:
        connection.close()


def _items(payload: str) -> list[Json]:
    """Anybody who may ask the database may tell anything."""
    with suppress(BadMessage):
        if isinstance(said := decode(payload), list):
            return cast("list[Json]", said)
    return [None]


async def _fetched(pool: Pool, number: int) -> Json:
    """What went by reference; None: that was too long ago."""
    async with pool.connection() as connection:
        found = partial(connection.execute, "SELECT body FROM notes WHERE number = %s", [number])
        row = await in_greenlet(lambda: found().fetchone())
    return decode(row[0]) if row else None


def _hear(roll: Roll, told: Json) -> None:
    """What another version tells in another way is not understood: what it told of is found all the same, later."""
    match told:
        case [str(sender), str(to), str(kind), str(session), Mapping() as body]:
            if sender == roll.me or to not in ("", roll.me):
                return
            try:
                roll.heard(Note(kind, session, {name: str(text) for name, text in body.items()}))
            except Exception as error:
                log.warning("note_not_understood", kind=kind, reason=f"{type(error).__name__}: {error}")
        case _:
            log.warning("note_not_understood")
