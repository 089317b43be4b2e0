"""SQLite files as this house keeps them: private, marked as ours, brought up to date; and what its errors mean.

Blocks; knows no trio and no table.
"""

from __future__ import annotations

import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate.protocol.catalog import (
    StoreBusy,
    StoreCorrupt,
    StoreFailed,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
)
from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    import sqlite3

BUSY_S = 2.0
"""How long another process may hold the file before we give up."""
FOLDER_MODE = 0o700
FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Schema:
    """`application_id` stands in the file's header. `migrations`: the statements that make version 1, 2, ... out of
    the one before."""

    application_id: int
    migrations: tuple[tuple[str, ...], ...]


def make_place(path: Path) -> None:
    """The folder, and an empty file, where they are missing."""
    make_folder(path.parent)
    if not path.exists():
        # SQLite would make it readable for all; its other files take over the mode of this one.
        os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))


def make_folder(folder: Path) -> None:
    """Where it is missing, with those above it that are: all for their owner alone."""
    if folder.is_dir():
        return
    # With `parents` the mode would be that of the last one only.
    make_folder(folder.parent)
    folder.mkdir(FOLDER_MODE, exist_ok=True)


def sync_folder(folder: Path) -> None:
    """A name in it is on the disk as well."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def migrate(connection: sqlite3.Connection, schema: Schema) -> None:
    """Bring the file up to date, in one transaction. Raises as `version_of`."""
    if version_of(connection, schema) == len(schema.migrations):
        return
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("BEGIN IMMEDIATE")
    try:
        # Another process may have done it while this one waited.
        for statements in schema.migrations[version_of(connection, schema) :]:
            for statement in statements:
                connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {schema.application_id}")
        connection.execute(f"PRAGMA user_version = {len(schema.migrations)}")
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def version_of(connection: sqlite3.Connection, schema: Schema) -> int:
    """0 for a new file. Raises StoreTooNew, and StoreCorrupt for a database that is not hookgate's."""
    version, application = _number(connection, "user_version"), _number(connection, "application_id")
    if application == schema.application_id:
        newest = len(schema.migrations)
        if version > newest:
            raise StoreTooNew(f"has version {version}, made by a newer hookgate; this one knows {newest}")
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
def named(path: Path) -> Generator[None]:
    """Every failure becomes a StoreFailed whose line begins with the file's path."""
    try:
        with faults_named(path):
            yield
    except OSError as error:
        kind = StoreFull if error.errno == 28 else StoreReadOnly
        raise kind(f"{error.filename or path} cannot be made: {error.strerror or error}") from error


@contextmanager
def faults_named(path: Path) -> Generator[None]:
    """As `named`, of the database alone."""
    import sqlite3

    try:
        yield
    except StoreFailed as error:
        said = str(error)
        raise type(error)(said if said.startswith(f"{path} ") else f"{path} {said}") from None
    except sqlite3.Error as error:
        raise meaning(path, error) from error


def meaning(path: Path, error: sqlite3.Error) -> StoreFailed:
    import sqlite3

    match primary(error):
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


def primary(error: sqlite3.Error) -> int:
    """The kind of the error; its higher bits only say where."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF
