"""Short reads on connections of their own, beside the writer and each other. Knows no table.

A read sees all that was stored when it began. None lasts: what a reader holds, no checkpoint can take over.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from sqlite3 import Connection
from typing import TypeVar

import trio

from hookgate.store.files import named

T = TypeVar("T")

MAX_READERS = 4


class Readers:
    """`connect` opens one more connection, in a thread."""

    def __init__(self, path: Path, connect: Callable[[], Connection]) -> None:
        self._path, self._connect = path, connect
        self._limiter = trio.CapacityLimiter(MAX_READERS)
        self._idle: list[Connection] = []

    async def call(self, read: Callable[[Connection], T]) -> T:
        """Raises StoreFailed and its kinds."""
        return await trio.to_thread.run_sync(self._read, read, limiter=self._limiter)

    def _read(self, read: Callable[[Connection], T]) -> T:
        with named(self._path):
            connection = self._idle.pop() if self._idle else self._connect()
            try:
                connection.execute("BEGIN")
                return read(connection)
            finally:
                if connection.in_transaction:
                    connection.execute("ROLLBACK")
                self._idle.append(connection)

    def close(self) -> None:
        """Where nobody reads any more."""
        while self._idle:
            self._idle.pop().close()
