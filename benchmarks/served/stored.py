"""How much longer `hookgate serve` takes to be ready where a million messages of earlier days are stored."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from time import time

import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from benchmarks.served.serving import configure, serving
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Draft
from hookgate.protocol.values import Message
from hookgate.store.journal import open_journal
from hookgate.store.journal.encoding import encoded
from hookgate.store.journal.schema import FORMAT

STARTS = 7
SESSIONS, EXCHANGES = 10_000, 50
"""Each exchange is two messages: a person's and its answer."""
TEXT = "What does the notice of yesterday mean for those who have signed before? " * 2
HERE = "@session@"
READY = Bar(
    "`hookgate serve` until it is ready, 10,000 conversations and a million messages stored",
    "the same with nothing stored",
    "ms",
    1.3,
    main=True,
)


async def measure(run: Run) -> list[Figure]:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as name:
        empty, full = Path(name, "empty"), Path(name, "full")
        for folder in (empty, full):
            folder.mkdir()
            configure(folder)
            async with open_journal(folder / "journal.db"):
                pass
        await trio.to_thread.run_sync(fill, full / "journal.db", run.times(SESSIONS), EXCHANGES)
        for _ in range(run.times(STARTS)):
            floor = await trio.to_thread.run_sync(_ready_ms, empty)
            pairs.append((floor, await trio.to_thread.run_sync(_ready_ms, full)))
    return [READY.judged(pairs)]


def _ready_ms(folder: Path) -> float:
    with serving(folder) as gateway:
        return gateway.ready_ms


def fill(journal: Path, sessions: int, exchanges: int) -> None:
    """What turns without tools leave behind, with an answer that was delivered to every message."""
    with closing(sqlite3.connect(journal, isolation_level=None)) as connection:
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = -400000")
        connection.execute("BEGIN")
        connection.execute("CREATE TEMP TABLE every (session INTEGER, exchange INTEGER, message INTEGER)")
        connection.execute(
            "WITH RECURSIVE n (i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM n WHERE i + 1 < ?1 * ?2) "
            "INSERT INTO every SELECT i % ?1 + 1, i / ?1 + 1, i + 1 FROM n",
            (sessions, exchanges),
        )
        for sql, values in _steps(sessions, exchanges, time() - 86_400):
            connection.execute(sql, values)
        connection.execute("COMMIT")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")


def _steps(sessions: int, exchanges: int, at: float) -> Iterator[tuple[str, tuple[object, ...]]]:
    """In the journal's own tables; each is one statement over `every`."""
    session = "web:ann:ann:s"
    chat = Chat("web", "ann", "ann", thread=HERE)
    asked, told = encoded(Inbound(chat, TEXT, message_id="m")), encoded(Outbound(chat, TEXT))
    yield (
        "INSERT INTO conversations (number, session, agent, generation, written, rows, fence, last_at) "
        "SELECT message, ? || message, 'default', 0, ?, ?, ?, ? FROM every WHERE exchange = 1",
        (session, 2 * exchanges, exchanges, exchanges, at),
    )
    yield (
        "INSERT INTO messages "
        "(number, digest, conversation, kind, accepted_at, outcome, begun, format, inbound, first) "
        "SELECT message, randomblob(32), session, 'message', ?, 'answered', 1, ?, "
        "CAST(replace(?, ?, 's' || session) AS BLOB), 2 * exchange - 1 FROM every",
        (at, FORMAT, asked.decode(), HERE),
    )
    for what in ("running", "answered", "delivered"):
        yield "INSERT INTO passages SELECT message, ?, ?, '' FROM every", (what, at)
    for message, before in ((Message("user", TEXT), 1), (Message("assistant", TEXT), 0)):
        yield (
            "INSERT INTO entries (conversation, number, upto, at, format, body) "
            "SELECT session, 2 * exchange - ?, 0, ?, ?, ? FROM every",
            (before, at, FORMAT, encoded(Draft(message))),
        )
    yield (
        "INSERT INTO outbox (id, conversation, message, channel, chat, at, state, format, outbound) "
        "SELECT ? || session || '/default/0#' || exchange, session, message, 'web', ? || session, ?, 'delivered', ?, "
        "CAST(replace(?, ?, 's' || session) AS BLOB) FROM every",
        (session, session, at, FORMAT, told.decode(), HERE),
    )
