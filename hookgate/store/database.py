"""One connection to the catalog's file: opening it, and whole transactions. Blocks; knows no trio.

Everything here runs in a worker thread, one call at a time.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hookgate.protocol.catalog import StoreBusy
from hookgate.store.files import BUSY_S, Schema, make_place, migrate, named, primary
from hookgate.store.migrations import APPLICATION_ID, MIGRATIONS
from hookgate.store.rows import Contents, read_contents

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

CATALOG = Schema(APPLICATION_ID, MIGRATIONS)
_RETRY_S = 0.01


class Attempt:
    """Whether anybody still waits for a call in a thread. What nobody waits for must not be written."""

    def __init__(self) -> None:
        self.given_up = False


class Database:
    """An open file. Raises StoreFailed and its kinds, nothing of SQLite's."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def read(self, attempt: Attempt) -> Contents:
        """All tables at one moment."""
        return self._transaction("BEGIN", attempt, lambda _connection: None)[1]

    def write(self, attempt: Attempt, change: Callable[[sqlite3.Connection], T]) -> tuple[T, Contents]:
        """What `change` returns and what the tables hold after it; on any error nothing has changed.

        Only what other processes have finished is read, so the contents are theirs as well.
        """
        return self._transaction("BEGIN IMMEDIATE", attempt, change)

    def _transaction(
        self, begin: str, attempt: Attempt, change: Callable[[sqlite3.Connection], T]
    ) -> tuple[T, Contents]:
        with named(self.path):
            self._connection.execute(begin)
            try:
                done = change(self._connection)
                contents = read_contents(self._connection)
                if attempt.given_up:
                    raise StoreBusy("nobody waits for this write any more")
                self._connection.execute("COMMIT")
            except BaseException:
                # SQLite ends a transaction by itself after some errors.
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                raise
        return done, contents

    def interrupt(self) -> None:
        """Ends a call that another thread is in; may be called from any."""
        self._connection.interrupt()

    def close(self) -> None:
        self._connection.close()


def open_database(path: Path, attempt: Attempt) -> tuple[Database, Contents]:
    """Make what is missing, bring an older file up to date. Raises StoreFailed; then the file is as it was."""
    import sqlite3

    with named(path):
        make_place(path)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    database = Database(path, connection)
    try:
        with named(path):
            _patiently(lambda: _prepare(connection))
        return database, database.read(attempt)
    except BaseException:
        connection.close()
        raise


def _patiently(act: Callable[[], None]) -> None:
    """SQLite does not wait when two processes make the same file at once: it says at once that it is locked."""
    import sqlite3

    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_S)


def _prepare(connection: sqlite3.Connection) -> None:
    # An acknowledged row survives a power cut too; writes are too rare for its price to matter.
    connection.execute("PRAGMA synchronous = FULL")
    migrate(connection, CATALOG)
