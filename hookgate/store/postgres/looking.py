"""A journal in PostgreSQL looked at without a gateway, or beside one. Changes nothing; blocks."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from time import time

import psycopg

from hookgate.protocol.catalog import StoreFailed
from hookgate.store.journal.tables import Tables
from hookgate.store.places import Database
from hookgate.store.postgres.faults import faults_named
from hookgate.store.postgres.schema import SETTINGS, stored_version
from hookgate.store.postgres.tables import SharedTables

CONNECT_S = 5


@contextmanager
def open_look_shared(database: Database) -> Generator[Tables]:
    """All of it at one moment. Raises StoreFailed and its kinds, also for what is read within."""
    with (
        faults_named(str(database)),
        psycopg.connect(database.address, autocommit=True, connect_timeout=CONNECT_S) as connection,
    ):
        for statement in SETTINGS:
            connection.execute(statement)
        if stored_version(connection) == 0:
            raise StoreFailed("nothing has been stored there yet")
        connection.execute("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY")
        yield SharedTables(connection, time(), str(database))
