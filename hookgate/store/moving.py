"""A journal carried over into another place, piece by piece: what was broken off goes on where it was, and in the end
both are read whole and compared.

While it goes on, nobody else has either of them, and no gateway takes up the half of one.
"""

from __future__ import annotations

import hashlib
import sqlite3
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import closing
from functools import partial

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.codec import canonical, decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.journal.opening import StoredJournal
from hookgate.store.journal.operators.books import KEEP_STATE, state_of
from hookgate.store.journal.schema import JOURNAL
from hookgate.store.journal.statements import Row
from hookgate.store.journal.tables import Tables

PIECE = 500
"""Rows in one transaction."""
MARK = "\N{EN DASH}moving"
"""The channel of the states that say how far it has come; no configured channel has such a name."""
SOURCE = "source"
HALF = "holds the half of a journal: `hookgate store migrate` goes on with it"
LEFT = frozenset({"holds"})
"""Of a moment."""


@dataclass(frozen=True)
class Compared:
    """A table that is the same in both: `digest` is the SHA-256 of its rows, in order."""

    table: str
    rows: int
    digest: str


@dataclass(frozen=True)
class _Table:
    """`key`: what its rows are ordered by; `hidden`: that is no column of its own, and not carried over."""

    name: str
    columns: tuple[str, ...]
    key: tuple[str, ...]
    hidden: bool

    @property
    def piece(self) -> str:
        """Values: those of the key of the last row before it, and how many."""
        columns, key = ", ".join(self._quoted), ", ".join(self.key)
        places = ", ".join("?" for _ in self.key)
        where = f"channel <> '{MARK}' AND " if self.name == "states" else ""
        return (
            f"SELECT {key}, {columns} FROM {self.name} WHERE {where}({key}) > ({places}) "  # noqa: S608 - of the schema
            f"ORDER BY {key} LIMIT ?"
        )

    @property
    def insert(self) -> str:
        places = ", ".join("?" for _ in self.columns)
        return f"INSERT INTO {self.name} ({', '.join(self._quoted)}) VALUES ({places})"  # noqa: S608 - of the schema

    @property
    def _quoted(self) -> list[str]:
        return [f'"{it}"' for it in self.columns]

    def first(self) -> list[object]:
        """Below the key of every row."""
        return [-1] if self.hidden or self.key == ("number",) else ["" if it != "record" else -1 for it in self.key]


def is_half(tables: Tables) -> bool:
    """Whether another journal was being carried over into this one when that broke off."""
    return state_of(tables, MARK, SOURCE) != ""


async def move(source: StoredJournal, target: StoredJournal, tell: Callable[[str], None]) -> tuple[Compared, ...]:
    """`tell` is given a line for each table. Raises StoreFailed: where the target holds something else, and where
    both are not the same in the end."""
    tables, name = _tables(), str(source.place)
    await target.engine.write(partial(_begin, name), barrier=True)
    for table in tables:
        rows = await _carry(source, target, table)
        tell(f"{table.name}: {rows} carried over")
    compared = [await _compared(source, target, table) for table in tables]
    await target.engine.write(partial(_end, tables), barrier=True)
    return tuple(compared)


def _begin(source: str, tables: Tables) -> None:
    found = state_of(tables, MARK, SOURCE)
    if not found and tables.one("SELECT 1 FROM conversations"):
        raise StoreFailed("there are conversations in it already: a journal is carried over into an empty one")
    if found not in ("", source):
        raise StoreFailed(f"another journal is being carried over into it: {found}")
    tables.run(KEEP_STATE, MARK, SOURCE, source)


def _end(known: tuple[_Table, ...], tables: Tables) -> None:
    for table in known:
        if table.key == ("number",):
            tables.go_on_counting(table.name)
    tables.run("DELETE FROM states WHERE channel = ?", MARK)


async def _carry(source: StoredJournal, target: StoredJournal, table: _Table) -> int:
    """How many rows, now."""
    text = await target.engine.read(lambda tables: state_of(tables, MARK, table.name))
    after, carried = _known(text) if text else table.first(), 0
    while rows := await source.engine.read(partial(_piece, table, after)):
        after = list(rows[-1][: len(table.key)])
        await target.engine.write(partial(_keep, table, rows, after), barrier=True)
        carried += len(rows)
    return carried


def _piece(table: _Table, after: list[object], tables: Tables) -> list[Row]:
    return tables.all(table.piece, *after, PIECE)


def _keep(table: _Table, rows: list[Row], last: list[object], tables: Tables) -> None:
    for row in rows:
        tables.run(table.insert, *row[len(table.key) :])
    tables.run(KEEP_STATE, MARK, table.name, encode(last).decode())


def _known(text: str) -> list[object]:
    found: list[object] = decode(text.encode())
    return found


# --- comparing ----------------------------------------------------------------------------------------------


async def _compared(source: StoredJournal, target: StoredJournal, table: _Table) -> Compared:
    here, there = await _digest(source, table), await _digest(target, table)
    if here != there:
        raise StoreFailed(
            f"{table.name} is not the same in both: {here.rows} rows and {there.rows}; nothing is to be used of it"
        )
    return here


async def _digest(journal: StoredJournal, table: _Table) -> Compared:
    hashed, rows = hashlib.sha256(), 0
    async for row in _rows(journal, table):
        values = [it.hex() if isinstance(it, bytes) else it for it in row[len(table.key) :]]
        hashed.update(canonical(values))
        rows += 1
    return Compared(table.name, rows, hashed.hexdigest())


async def _rows(journal: StoredJournal, table: _Table) -> AsyncIterator[Row]:
    after = table.first()
    while rows := await journal.engine.read(partial(_piece, table, after)):
        for row in rows:
            yield row
        after = list(rows[-1][: len(table.key)])


# --- tables -------------------------------------------------------------------------------------------------


def _tables() -> tuple[_Table, ...]:
    """Those of the schema, each after those that it refers to."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for statements in JOURNAL.migrations:
            for statement in statements:
                connection.execute(statement)
        return tuple(_read_tables(connection))


def _read_tables(connection: sqlite3.Connection) -> Iterator[_Table]:
    made = connection.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' ORDER BY rowid").fetchall()
    for name, sql in made:
        if name in LEFT:
            continue
        described = connection.execute(f"PRAGMA table_info({name})").fetchall()
        columns = tuple(it[1] for it in described)
        key = tuple(it[1] for it in sorted(described, key=lambda it: it[5]) if it[5])
        hidden = key != ("number",) and "WITHOUT ROWID" not in sql
        yield _Table(name, columns, ("rowid",) if hidden else key, hidden)
