"""What a message costs in PostgreSQL, from its arrival to its delivery: no more than docs/scaling.md says."""

from __future__ import annotations

import json
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryFile
from typing import Any, LiteralString

import httpx
import psycopg
import pytest
import trio
from psycopg.pq import Trace

from hookgate.assembly.settings import Settings
from hookgate.channels.web.access.passwords import hashed
from hookgate.config import load
from hookgate.serve.run import Served
from hookgate.store.postgres.waiting import WaitingConnection
from tests.docs.page import codes, read_page
from tests.postgres import Server
from tests.serve.gateway import configured, open_served

PAGE = read_page(Path(__file__).parents[3] / "docs" / "scaling.md")
CHANNEL = f"""
[tools]
enabled = ["write"]
[channels.page]
kind = "web"
users = {{ ann = "{hashed("right", 8)}" }}
[people.ann]
ids = ["page:ann"]
roles = ["approver"]
[[approvals]]
tools = ["write"]
"""
WRITE = {"id": "c1", "name": "write", "arguments": {"path": "a.txt", "content": "hello"}}
STEPS = [
    {"when": "^write", "calls": [WRITE]},
    {"on": "tool", "when": "(?s).", "text": "Written."},
    {"when": "(?s).", "text": "x" * 600},
]
DEADLINE_S = 200.0
"""For 54 messages, of which a busy machine brings one a second."""
WARM, EACH = 15, 4
"""Messages of each kind, after which everything is prepared on every connection that is used."""
AT_ALL_TIMES = (
    # That it lives, and what no gateway has.
    *("UPDATE gateways SET beat", "DELETE FROM notes", "SELECT 1 FROM gateways", "SELECT m.number, m.begun"),
    # Rows that nobody has told of; what others may have altered; what is to be signed.
    *("GROUP BY chat", "FROM people ORDER BY", "FROM keys ORDER BY", "SELECT value FROM states"),
    "SELECT hash FROM audit WHERE number",
)
"""In what a gateway asks every few seconds: the longer a message takes, the more of it comes meanwhile."""
WHAT = ("transactions", "statements", "round trips", "bytes there", "bytes back")
NEAR = {it: 0.5 if "bytes" in it else 0.2 for it in WHAT}
"""How far the page may be off: what is looked for again, and prepared, is a matter of moments."""
TRACED = re.compile(rb"^([FB])\t(\d+)\t(\w+)", re.MULTILINE)
DELIVERED = "SELECT count(*) FROM hookgate.passages WHERE what = 'delivered'"
OPEN = "SELECT id FROM hookgate.requests WHERE state = 'open'"


@dataclass
class Transaction:
    statements: list[str] = field(default_factory=list[str])
    trips: int = 0
    sent: int = 0
    received: int = 0


class Counted:
    """What connections have said to the server, transaction by transaction."""

    def __init__(self) -> None:
        self.ended: list[Transaction] = []
        self._going: dict[WaitingConnection, Transaction] = {}
        self._files: dict[WaitingConnection, Any] = {}

    def begin(self, connection: WaitingConnection) -> None:
        if connection not in self._files:
            file = self._files[connection] = TemporaryFile("w+b")  # noqa: SIM115 - until all is counted
            connection.pgconn.trace(file.fileno())
            connection.pgconn.set_trace_flags(Trace.SUPPRESS_TIMESTAMPS)
        self._files[connection].seek(0)
        self._files[connection].truncate()

    def end(self, connection: WaitingConnection, statement: str) -> None:
        going = self._going.setdefault(connection, Transaction())
        going.statements += statement.split("; ")
        file = self._files[connection]
        file.seek(0)
        for way, length, kind in TRACED.findall(file.read()):
            # The length counts itself, and not the byte of the kind.
            if way == b"F":
                going.sent += int(length) + 1
                going.trips += kind in (b"Query", b"Sync")
            else:
                going.received += int(length) + 1
        if statement in ("COMMIT", "ROLLBACK") or connection.info.transaction_status == 0:
            self.ended.append(self._going.pop(connection))

    def of_messages(self) -> tuple[int, int, int, int, int]:
        """Transactions, statements, round trips, bytes there and back; without what a gateway asks at all times."""
        its = [it for it in self.ended if not any(one in said for said in it.statements for one in AT_ALL_TIMES)]
        count = (len(its), sum(len(it.statements) for it in its), sum(it.trips for it in its))
        return (*count, sum(it.sent for it in its), sum(it.received for it in its))

    def close(self) -> None:
        for connection, file in self._files.items():
            if not connection.closed:
                connection.pgconn.untrace()
            file.close()


@contextmanager
def counted(monkeypatch: pytest.MonkeyPatch) -> Generator[Counted]:
    """All connections of this process."""
    counts, execute = Counted(), WaitingConnection.execute

    def execute_counted(connection: WaitingConnection, query: Any, *given: Any, **named: Any) -> Any:
        counts.begin(connection)
        try:
            return execute(connection, query, *given, **named)
        finally:
            counts.end(connection, query.decode() if isinstance(query, bytes) else query)

    with monkeypatch.context() as patched:
        patched.setattr(WaitingConnection, "execute", execute_counted)
        try:
            yield counts
        finally:
            counts.close()


@asynccontextmanager
async def ann(served: Served) -> AsyncGenerator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=f"http://{served.address}", timeout=30) as client:
        assert (await client.post("/api/login", json={"user": "ann", "password": "right"})).status_code == 204
        client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
        yield client


@pytest.fixture
def gateway_there(server: Server, tmp_path: Path) -> tuple[Settings, str]:
    """A gateway among those of this database, and its address."""
    address = server.database()
    configured(tmp_path, CHANNEL, json.dumps({"steps": STEPS}))
    file = tmp_path / "hookgate.toml"
    file.write_text(file.read_text().replace("[store]\n", f'[store]\nurl = "{address}"\n'))
    return Settings(load(file)[0], tmp_path, file, serving=True), address


async def test_a_message_costs_what_the_page_says(
    gateway_there: tuple[Settings, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    settings, address = gateway_there
    with psycopg.connect(address, autocommit=True) as looking, counted(monkeypatch) as counts:
        async with open_served(settings, deadline_s=DEADLINE_S) as served, ann(served) as page:
            told = {
                codes(it)[0]: [float(one.replace(",", "")) for one in said] for it, *said in PAGE.one("cost").rows
            }
            assert set(told) == {"hi", "write"}
            for word in WARM * tuple(told):
                await _say(page, looking, f"{word} {'y' * 590}")
            for word, said in told.items():
                least = [
                    min(it) for it in zip(*[await _cost(counts, page, looking, word) for _ in range(3)], strict=True)
                ]
                for what, cost, says in zip(WHAT, least, said, strict=True):
                    assert says * (1 - NEAR[what]) <= cost <= says * (1 + NEAR[what]), (word, what, cost)


async def _cost(counts: Counted, page: httpx.AsyncClient, looking: psycopg.Connection, word: str) -> list[float]:
    """Of each message. What a gateway does at its own times only adds to it."""
    counts.ended.clear()
    for number in range(EACH):
        await _say(page, looking, f"{word} {number} {'y' * 590}")
    return [it / EACH for it in counts.of_messages()]


async def _say(page: httpx.AsyncClient, looking: psycopg.Connection, text: str) -> None:
    """Until it is delivered; what it asks for is approved."""

    def found(sql: LiteralString) -> Any:
        [value] = looking.execute(sql).fetchone() or (None,)
        return value

    before = found(DELIVERED)
    said = await page.post("/api/chats/c1/messages", json={"key": token_hex(8), "text": text})
    assert said.status_code == 202, said.text
    while found(DELIVERED) == before:
        if request := found(OPEN):
            assert (await page.post(f"/api/approvals/{request}", json={"approved": True})).status_code == 200
        await trio.sleep(0.01)
