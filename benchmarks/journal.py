"""Accepting messages into the journal with full barriers, beside a bare sqlite3 writer with group commit."""

from __future__ import annotations

import sqlite3
import tempfile
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path
from queue import SimpleQueue
from secrets import token_hex
from time import perf_counter_ns

import trio

from benchmarks.figures import Bar, Figure, Pair, Run
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.values import Arrival
from hookgate.store.journal import open_journal

CALLS = {1: 300, 16: 4000}
"""By how many ask side by side."""
TEXT = "x" * 600
FLOOR = "a bare sqlite3 writer with group commit: one row of 700 bytes and its key, synced"
BARS = {
    callers: Bar(f"a message accepted, on the disk, {callers} at a time", FLOOR, "µs", 2.0, main=callers > 1)
    for callers in CALLS
}
CHATS = 100

Accept = Callable[[str, str], Awaitable[object]]
"""Of a key and a chat; returns once it is on the disk."""


async def measure(run: Run) -> list[Figure]:
    pairs: dict[int, list[Pair]] = {callers: [] for callers in CALLS}
    with tempfile.TemporaryDirectory(prefix="hookgate-bench-") as folder:
        async with open_journal(Path(folder) / "journal.db") as journal:

            async def accept(key: str, chat: str) -> None:
                await journal.intake.accept(Arrival(Inbound(Chat("test", chat), TEXT), "agent", key))

            async with trio.open_nursery() as nursery:
                bare = BareWriter(Path(folder) / "bare.db")
                nursery.start_soon(trio.to_thread.run_sync, bare.run)
                for _ in range(run.rounds):
                    for callers, calls in CALLS.items():
                        count = run.times(calls)
                        floor = await _each(bare.accept, callers, count)
                        pairs[callers].append((floor, await _each(accept, callers, count)))
                bare.calls.put(None)
    return [BARS[callers].judged(found) for callers, found in pairs.items()]


async def _each(accept: Accept, callers: int, count: int) -> float:
    """Microseconds a message. Each has a key of its own, as random as those that pages make, and is known by it."""
    keys = iter([(token_hex(16), str(number % CHATS)) for number in range(count)])

    async def ask() -> None:
        for key, chat in keys:
            await accept(key, chat)

    begun = perf_counter_ns()
    async with trio.open_nursery() as nursery:
        for _ in range(callers):
            nursery.start_soon(ask)
    return (perf_counter_ns() - begun) / 1000 / count


class BareWriter:
    """What nobody can do with less: a thread that writes what is asked for at once, in one transaction."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self.calls: SimpleQueue[tuple[trio.lowlevel.Task, str, bytes] | None] = SimpleQueue()
        self._token = trio.lowlevel.current_trio_token()

    async def accept(self, key: str, chat: str) -> None:
        self.calls.put((trio.lowlevel.current_task(), key, f"{chat}{TEXT}{TEXT[:100]}".encode()))
        await trio.lowlevel.wait_task_rescheduled(lambda _: trio.lowlevel.Abort.FAILED)

    def run(self) -> None:
        with closing(sqlite3.connect(self._path, isolation_level=None)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute("CREATE TABLE inbox (number INTEGER PRIMARY KEY, key TEXT UNIQUE, body BLOB)")
            while (call := self.calls.get()) is not None:
                group = [call]
                while not self.calls.empty() and (call := self.calls.get()) is not None:
                    group.append(call)
                connection.execute("BEGIN IMMEDIATE")
                for _task, key, body in group:
                    connection.execute("INSERT INTO inbox (key, body) VALUES (?, ?)", (key, body))
                connection.execute("COMMIT")
                self._token.run_sync_soon(self._wake, [task for task, _key, _body in group])

    def _wake(self, tasks: list[trio.lowlevel.Task]) -> None:
        for task in tasks:
            trio.lowlevel.reschedule(task)
