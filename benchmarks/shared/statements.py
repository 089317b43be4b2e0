"""What a message costs in the database, from its arrival to its delivery, beside its bare statements on one psycopg
connection: those of each run are said again to a second database, which has heard all that the first one has."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from time import perf_counter_ns
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.values import Arrival, Draft
from hookgate.protocol.values import Message
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal
from hookgate.store.postgres.waiting import WaitingConnection
from tests.postgres import Server

MESSAGES, CHATS = 100, 10
TEXT = "x" * 600
COST = Bar(
    "a message in PostgreSQL: accepted, claimed, answered, delivered",
    "its statements on one psycopg connection",
    "µs",
    1.5,
)
Statement = tuple[Any, Any]
"""As psycopg takes it, and its parameters."""


class Heard:
    """Transactions, in the order in which they ended; beats are left out."""

    def __init__(self) -> None:
        self._ended: list[list[Statement]] = []
        self._going: dict[WaitingConnection, list[Statement]] = {}

    def taken(self) -> list[Statement]:
        ended, self._ended = self._ended, []
        return [it for one in ended for it in one if not any(b"SET beat" in bytes(sql) for sql, _ in one)]

    def note(self, connection: WaitingConnection, sql: str | bytes, values: object) -> None:
        statement = sql.encode() if isinstance(sql, str) else sql
        going = self._going.setdefault(connection, [])
        going.append((statement, values))
        if connection.pgconn.transaction_status == TransactionStatus.IDLE:
            self._ended.append(self._going.pop(connection))


@contextmanager
def listening() -> Generator[Heard]:
    heard, execute = Heard(), WaitingConnection.execute

    def execute_heard(connection: WaitingConnection, query: Any, params: Any = None, **named: Any) -> Any:
        cursor = execute(connection, query, params, **named)
        heard.note(connection, query, params)
        return cursor

    setattr(WaitingConnection, "execute", execute_heard)  # noqa: B010 - it takes what the other one takes
    try:
        yield heard
    finally:
        setattr(WaitingConnection, "execute", execute)  # noqa: B010


async def measure(run: Run, server: Server) -> Figure:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder, listening() as heard:
        place = Database(server.database(), Path(folder) / "journal")
        with psycopg.connect(server.database(), autocommit=True) as bare:
            async with open_postgres_journal(place, shared=True) as journal:
                # At first everything is prepared.
                await _messages(journal, CHATS)
                _say(bare, heard.taken())
                for _ in range(run.rounds):
                    count = run.times(MESSAGES)
                    took = await _messages(journal, count)
                    pairs.append((_say(bare, heard.taken()) / count, took / count))
    return COST.judged(pairs)


async def _messages(journal: StoredJournal, count: int) -> float:
    """Microseconds that all of them took, one after the other."""
    begun = perf_counter_ns()
    for number in range(count):
        chat = Chat("test", str(number % CHATS), "ann")
        accepted = await journal.intake.accept(Arrival(Inbound(chat, TEXT), "agent", token_hex(16)))
        claim = await journal.work.claim(journal.work.me, 60, message=accepted.id)
        assert claim is not None
        await journal.work.append(claim, [Draft(Message("user", TEXT))])
        answer = [Draft(Message("assistant", TEXT))]
        await journal.work.complete(claim, "answered", answer, [Outbound(chat, TEXT)])
        row = await journal.posting.next_row(chat)
        assert row is not None
        await journal.posting.sent(row.id, "there")
    return (perf_counter_ns() - begun) / 1000


def _say(connection: psycopg.Connection[Any], statements: list[Statement]) -> float:
    """Microseconds."""
    begun = perf_counter_ns()
    for statement, values in statements:
        cursor = connection.execute(statement, values)
        if cursor.description:
            cursor.fetchall()
    return (perf_counter_ns() - begun) / 1000
