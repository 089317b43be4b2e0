"""What PostgreSQL's errors mean to whoever asked, and which of them pass by themselves."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import psycopg
from psycopg import errors

from hookgate.protocol.catalog import StoreBusy, StoreCorrupt, StoreFailed, StoreFull, StoreReadOnly

AGAIN = (
    errors.SerializationFailure,
    errors.DeadlockDetected,
    errors.UniqueViolation,
    errors.ForeignKeyViolation,
)
"""Another step came first, or a gateway went: made again, this one finds what has become of it."""

_PASSING = frozenset(("57P01", "57P02", "57P03", "53300", "55P03", "25P03"))
"""The server stops, crashes or starts; it has no connection left; somebody holds what is needed; this
gateway was away in the middle of a step."""


def passes(error: psycopg.Error) -> bool:
    """Whether the database is away, or busy, and may be asked again. A connection that broke has no code."""
    code = error.sqlstate
    return code is None or code.startswith("08") or code in _PASSING


_KINDS: tuple[tuple[type[psycopg.Error], type[StoreFailed]], ...] = (
    (errors.DiskFull, StoreFull),
    (errors.ReadOnlySqlTransaction, StoreReadOnly),
    (errors.InsufficientPrivilege, StoreReadOnly),
    (errors.LockNotAvailable, StoreBusy),
    (errors.QueryCanceled, StoreBusy),
    (errors.DataCorrupted, StoreCorrupt),
    (errors.IndexCorrupted, StoreCorrupt),
)


@contextmanager
def faults_named(place: str) -> Generator[None]:
    """psycopg's errors as ours, each with the place."""
    try:
        yield
    except psycopg.Error as error:
        kind = next((ours for theirs, ours in _KINDS if isinstance(error, theirs)), StoreFailed)
        raise kind(f"{place}: {said(error)}") from error
    except StoreFailed as error:
        raise type(error)(f"{place}: {error}") if place not in str(error) else error from None


def said(error: psycopg.Error) -> str:
    """Its first line, which names no password."""
    return next(iter(str(error).strip().splitlines()), "") or type(error).__name__
