"""One connection to the file: opening it, whole transactions, and what SQLite's errors mean. Blocks; knows no trio.

Everything here runs in a worker thread, one call at a time.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hookgate.protocol.catalog import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from hookgate.store.migrations import APPLICATION_ID, MIGRATIONS
from hookgate.store.rows import Contents, read_contents

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

BUSY_S = 2.0
"""How long another process may hold the file before we give up."""
FOLDER_MODE = 0o700
FILE_MODE = 0o600
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
        with _named(self.path):
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

    with _named(path):
        _make_place(path)
        connection = sqlite3.connect(path, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
    database = Database(path, connection)
    try:
        with _named(path):
            _patiently(lambda: _prepare(connection))
        return database, database.read(attempt)
    except BaseException:
        connection.close()
        raise


def _make_place(path: Path) -> None:
    path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    if not path.exists():
        # SQLite would make it readable for all; its other files take over the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))


def _patiently(act: Callable[[], None]) -> None:
    """SQLite does not wait when two processes make the same file at once: it says at once that it is locked."""
    import sqlite3

    deadline = time.monotonic() + BUSY_S
    while True:
        try:
            return act()
        except sqlite3.OperationalError as error:
            if _primary(error) != sqlite3.SQLITE_BUSY or time.monotonic() > deadline:
                raise
        time.sleep(_RETRY_S)


def _prepare(connection: sqlite3.Connection) -> None:
    # An acknowledged row survives a power cut too; writes are too rare for its price to matter.
    connection.execute("PRAGMA synchronous = FULL")
    if _version(connection) == len(MIGRATIONS):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        for statements in MIGRATIONS[_version(connection) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _version(connection: sqlite3.Connection) -> int:
    """Raises StoreTooNew, and StoreCorrupt for a database that is not hookgate's."""
    version, application = _number(connection, "user_version"), _number(connection, "application_id")
    if application == APPLICATION_ID:
        if version > len(MIGRATIONS):
            raise StoreTooNew(f"has version {version}, made by a newer hookgate; this one knows {len(MIGRATIONS)}")
        return version
    [[tables]] = connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    if version or application or tables:
        raise StoreCorrupt("is the database of another program")
    return 0


def _number(connection: sqlite3.Connection, pragma: str) -> int:
    [[value]] = connection.execute(f"PRAGMA {pragma}").fetchall()
    return int(value)


# --- errors -------------------------------------------------------------------------------------------------


@contextmanager
def _named(path: Path) -> Generator[None]:
    """Every failure becomes a StoreFailed whose line begins with the file's path."""
    import sqlite3

    try:
        yield
    except StoreFailed as error:
        raise type(error)(f"{path} {error}") from None
    except sqlite3.Error as error:
        raise _meaning(path, error) from error
    except OSError as error:
        kind = StoreFull if error.errno == 28 else StoreReadOnly
        raise kind(f"{error.filename or path} cannot be made: {error.strerror or error}") from error


def _meaning(path: Path, error: sqlite3.Error) -> StoreFailed:
    import sqlite3

    match _primary(error):
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return StoreBusy(f"{path} is locked by another process")
        case sqlite3.SQLITE_INTERRUPT:
            return StoreBusy(f"{path} took too long")
        case sqlite3.SQLITE_FULL:
            return StoreFull(f"{path} cannot grow: the disk is full")
        case sqlite3.SQLITE_CORRUPT | sqlite3.SQLITE_NOTADB:
            return StoreCorrupt(f"{path} is damaged or no database ({error}); it was left as it is")
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_PERM | sqlite3.SQLITE_CANTOPEN:
            return StoreReadOnly(f"{path} cannot be written: {error}")
        case _:
            return StoreFailed(f"{path} failed: {error}")


def _primary(error: sqlite3.Error) -> int:
    """The kind of the error; its higher bits only say where."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
