"""The one thread that writes: what many tasks ask for at once becomes one transaction. Knows no table.

A call either is stored when it returns, or has changed nothing: what one of a group does wrong is taken back and the
others are made again without it.
"""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import SimpleQueue
from typing import Any, Generic, Literal, NoReturn, TypeVar

import outcome
import trio

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.files import faults_named

T = TypeVar("T")
S = TypeVar("S")

MAX_GROUP = 256
"""Of calls in one transaction: nobody waits for more of them than this."""

Durability = Literal["power", "process"]


@dataclass(eq=False)
class _Call:
    """`act` is given what the writer writes to. `barrier`: it has to be on the disk, not only with the kernel."""

    act: Callable[[Any], object]
    barrier: bool
    task: trio.lowlevel.Task
    taken: bool = False
    given_up: bool = False


class Writer(Generic[S]):
    """`subject` is what calls are given: the tables over `connection`. Every method that is not async runs in the
    thread, but for `close`."""

    def __init__(self, path: Path, connection: sqlite3.Connection, subject: S, durability: Durability) -> None:
        self._path, self._connection, self._subject = path, connection, subject
        self._power = durability == "power"
        self._calls: SimpleQueue[_Call | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._token = trio.lowlevel.current_trio_token()
        self._full = False
        self._closed = False
        self._changed = trio.Event()

    async def call(self, act: Callable[[S], T], *, barrier: bool = False) -> T:
        """What `act` returns or raises, once that is stored. Cancelled before it has begun, it never is; once it has,
        it is waited for. Raises StoreFailed and its kinds."""
        await trio.lowlevel.checkpoint_if_cancelled()
        if self._closed:
            raise StoreFailed(f"{self._path} is closed")
        call = _Call(act, barrier, trio.lowlevel.current_task())
        self._calls.put(call)
        return await trio.lowlevel.wait_task_rescheduled(lambda _: self._give_up(call))

    async def changed(self) -> None:
        """Until something has been written."""
        await self._changed.wait()

    def close(self) -> None:
        """The thread ends after what has been asked for."""
        self._closed = True
        self._calls.put(None)

    def _give_up(self, call: _Call) -> trio.lowlevel.Abort:
        with self._lock:
            call.given_up = not call.taken
        return trio.lowlevel.Abort.SUCCEEDED if call.given_up else trio.lowlevel.Abort.FAILED

    # --- in the thread ---

    def run(self) -> None:
        """Until it is closed."""
        open_ = True
        while open_:
            group, open_ = self._next()
            if not group:
                continue
            before = self._connection.total_changes
            ended = self._together(group) or [self._alone(call) for call in group]
            changed = self._connection.total_changes != before
            self._token.run_sync_soon(self._wake, list(zip(group, ended, strict=True)), changed)

    def _next(self) -> tuple[list[_Call], bool]:
        """What is asked for by now, without what nobody waits for any more; and whether there will be more."""
        calls = [self._calls.get()]
        while calls[-1] is not None and len(calls) < MAX_GROUP and not self._calls.empty():
            calls.append(self._calls.get())
        with self._lock:
            group = [call for call in calls if call is not None and not call.given_up]
            for call in group:
                call.taken = True
        return group, calls[-1] is not None

    def _together(self, group: Sequence[_Call]) -> list[outcome.Outcome[object]]:
        """Empty: one of them has failed after it had changed something, or all of them have."""
        try:
            with faults_named(self._path):
                self._begin(any(call.barrier for call in group))
        except StoreFailed as error:
            return [outcome.Error(type(error)(str(error))) for _ in group]
        ended: list[outcome.Outcome[object]] = []
        try:
            for call in group:
                before = self._connection.total_changes
                result = outcome.capture(call.act, self._subject)
                if isinstance(result, outcome.Error):
                    if not self._connection.in_transaction or self._connection.total_changes != before:
                        self._roll_back()
                        return []
                    result = outcome.capture(self._raise, result.error)
                ended.append(result)
            self._connection.execute("COMMIT")
        except sqlite3.Error:
            self._roll_back()
            return []
        return ended

    def _alone(self, call: _Call) -> outcome.Outcome[object]:
        return outcome.capture(self._transact, call)

    def _transact(self, call: _Call) -> object:
        with faults_named(self._path):
            self._begin(call.barrier)
            try:
                result = call.act(self._subject)
                self._connection.execute("COMMIT")
            except BaseException:
                self._roll_back()
                raise
        return result

    def _raise(self, error: BaseException) -> NoReturn:
        with faults_named(self._path):
            raise error

    def _begin(self, barrier: bool) -> None:
        full = barrier and self._power
        if full != self._full:
            # A full barrier makes durable what was written before it as well.
            self._connection.execute(f"PRAGMA synchronous = {'FULL' if full else 'NORMAL'}")
            self._full = full
        self._connection.execute("BEGIN IMMEDIATE")

    def _roll_back(self) -> None:
        # SQLite ends a transaction by itself after some errors.
        if self._connection.in_transaction:
            self._connection.execute("ROLLBACK")

    # --- back in the loop ---

    def _wake(self, ended: Sequence[tuple[_Call, outcome.Outcome[object]]], changed: bool) -> None:
        for call, result in ended:
            trio.lowlevel.reschedule(call.task, result)
        if changed:
            self._changed.set()
            self._changed = trio.Event()
