"""Messages accepted into PostgreSQL, beside what pgbench does with the same inserts, as many clients and the same
disk."""

from __future__ import annotations

import re
import subprocess
import tempfile
from pathlib import Path
from secrets import token_hex
from time import perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Arrival
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.places import Database
from hookgate.store.postgres import open_postgres_journal
from tests.postgres import Server

CLIENTS, EACH, CHATS = 8, 100, 50
TEXT = "x" * 600
ACCEPTED = Bar(
    f"a message accepted into PostgreSQL, {CLIENTS} at a time", "`pgbench` with the same inserts", "µs", 1.67
)
INSERT = r"""
\set chat random(1, {chats})
INSERT INTO hookgate.messages (conversation, digest, kind, accepted_at, format, inbound)
VALUES (:chat, sha256((:client_id || '-' || random() || clock_timestamp())::text::bytea), 'message',
    extract(epoch FROM clock_timestamp()), 1, (SELECT inbound FROM hookgate.messages WHERE number = 1))
ON CONFLICT (digest) DO NOTHING;
"""
RATE = re.compile(r"^tps = ([\d.]+)", re.MULTILINE)


async def measure(run: Run, server: Server) -> Figure:
    pairs: list[Pair] = []
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        script = Path(folder) / "insert.sql"
        script.write_text(INSERT.format(chats=CHATS))
        place = Database(server.database(), Path(folder) / "journal")
        async with open_postgres_journal(place, connections=CLIENTS, shared=True) as journal:
            # Its chats, and all connections.
            await _accept(journal, 2 * CHATS)
            for _ in range(run.rounds):
                each = run.times(EACH)
                floor = await trio.to_thread.run_sync(_inserted, server, place.address, script, each)
                pairs.append((floor, await _accept(journal, CLIENTS * each)))
    return ACCEPTED.judged(pairs)


async def _accept(journal: StoredJournal, count: int) -> float:
    """Microseconds a message."""
    numbers = iter(range(count))

    async def ask() -> None:
        for number in numbers:
            inbound = Inbound(Chat("test", str(number % CHATS), "ann"), TEXT)
            await journal.intake.accept(Arrival(inbound, "agent", token_hex(16)))

    begun = perf_counter_ns()
    async with trio.open_nursery() as nursery:
        for _ in range(CLIENTS):
            nursery.start_soon(ask)
    return (perf_counter_ns() - begun) / 1000 / count


def _inserted(server: Server, address: str, script: Path, each: int) -> float:
    """Microseconds a message."""
    options = ["-n", "-M", "prepared", "-c", str(CLIENTS), "-j", "1", "-t", str(each), "-f", str(script)]
    command = [str(server.programs / "pgbench"), *options, address]
    said = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    found = RATE.search(said)
    assert found, said
    return 1e6 / float(found[1])
