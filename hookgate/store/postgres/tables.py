"""The steps that several calls of the journal are made of, over a connection to PostgreSQL."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.cluster import ROWS, WORK, Note
from hookgate.store.alone import ME
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.statements import Added, Coming, Row
from hookgate.store.journal.tables import UNANSWERED, Tables
from hookgate.store.postgres.dialect import bound
from hookgate.store.postgres.roll import Roll

if TYPE_CHECKING:
    from psycopg import Connection, Cursor

CHAIN = 0x686F6F6B
"""The lock of what all steps that write wait for each other with."""
AT_WORK = """
    SELECT 1 FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE c.session = ? AND m.outcome IS NULL
    UNION ALL SELECT 1 FROM outbox WHERE state IS NULL AND chat = ? LIMIT 1
"""
"""A conversation that does not rest."""
BEFORE = f"SELECT 1 FROM messages WHERE conversation = ? AND number < ? AND {UNANSWERED} LIMIT 1"  # noqa: S608 - constants
ACCEPT = "SELECT * FROM accept_together(%b, %b, %b, %b, %b, %b, ?, ?)"
"""Lists as bytes: as text each body is written in hexadecimal, escaped and read again."""
# The gateway may have gone by now, or go at this moment: then nothing changes.
PLACED = """
    INSERT INTO owners (session, gateway) SELECT ?, id FROM gateways WHERE id = ? FOR KEY SHARE ON CONFLICT DO NOTHING
"""
MOVED = """
    UPDATE owners SET gateway = its.id FROM (SELECT id FROM gateways WHERE id = ? FOR KEY SHARE) its WHERE session = ?
"""


class SharedTables(Tables):
    """`now`: seconds of the wall clock, the same for the whole step. `roll`: the gateways that live; None: there is
    none, since somebody has the journal alone."""

    def __init__(self, connection: Connection[Any], now: float, place: str, roll: Roll | None = None) -> None:
        self._connection, self._roll = connection, roll
        self._owners: dict[str, str] = {}
        self.me = ME if roll is None else roll.me
        self.notes: list[tuple[str, Note]] = []
        """What others are to be told once this step is stored, and whom."""
        self._ends: list[Callable[[], None]] = []
        self.clock = lambda: now
        self.place = place
        self.changed = False
        """Whether this step has changed anything."""

    # --- reading ---

    def one(self, sql: str, *values: object) -> Row | None:
        return self._execute(sql, values).fetchone()

    def all(self, sql: str, *values: object) -> list[Row]:
        return self._execute(sql, values).fetchall()

    def each(self, sql: str, *values: object) -> Iterator[Row]:
        yield from self._execute(sql, values)

    def has(self, table: str) -> bool:
        return True

    def run(self, sql: str, *values: object) -> int:
        return self._execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        row = self._execute(f"{sql} RETURNING number", values).fetchone()
        return 0 if row is None else row[0]

    def used_bytes(self) -> int:
        row = self.one("SELECT pg_database_size(current_database())")
        return row[0] if row else 0

    def damaged(self, most: int) -> list[str]:
        """It looks after its pages itself (data_checksums, amcheck)."""
        return []

    def written(self, path: Path) -> tuple[int, float]:
        row = self.one("SELECT coalesce(max(last_at), 0) FROM conversations")
        return self.used_bytes(), row[0] if row else 0.0

    # --- one writer among several ---

    def held(self, sql: str, *values: object) -> Row | None:
        return self.one(f"{sql} FOR NO KEY UPDATE", *values)

    def free(self, sql: str, *values: object) -> Row | None:
        return self.one(f"{sql} FOR NO KEY UPDATE OF c, m SKIP LOCKED", *values)

    def hold(self, session: str, *, alone: bool = False) -> None:
        shared = "" if alone else "_shared"
        self.one(f"SELECT pg_advisory_xact_lock{shared}(hashtextextended(?, 0))", session)

    def lock(self, conversation: int) -> None:
        self.one("SELECT 1 FROM conversations WHERE number = ? FOR UPDATE", conversation)

    def last(self, act: Callable[[], None]) -> None:
        self._ends.append(act)

    def go_on_counting(self, table: str) -> None:
        newest = f"(SELECT coalesce(max(number), 0) + 1 FROM {table})"  # noqa: S608 - of the schema
        self.one(f"SELECT setval(pg_get_serial_sequence('{table}', 'number'), {newest}, false)")

    # --- one gateway among several ---

    def accept_together(self, coming: Sequence[Coming]) -> list[Added]:
        wanted = [self._wanted(it.session, here=it.here) for it in coming]
        columns = [[getattr(it, name) for it in coming] for name in ("session", "agent", "key", "kind", "body")]
        rows = self.all(ACCEPT, *columns[:2], wanted, *columns[2:], self.clock(), FORMAT)
        added = [Added(*row) for row in rows]
        for it, owner, one in zip(coming, wanted, added, strict=True):
            if one.number:
                self.changed = True
                self._owners[it.session] = owner
        return added

    def _wanted(self, session: str, *, here: bool) -> str:
        if self._roll is None:
            return ""
        return self.me if here else self._roll.place_of(session)

    def own(self, session: str, *, here: bool = True) -> str:
        if self._roll is None:
            return self.me
        if session in self._owners:
            return self._owners[session]
        wanted = self._wanted(session, here=here)
        owner = self._owner(session, wanted)
        if owner != wanted and not self.one(AT_WORK, session, session):
            owner = self._moved(session, wanted)
        self._owners[session] = owner
        return owner

    def mine(self, session: str, *, held: bool = False) -> str:
        if self._roll is None:
            return ""
        lock = "FOR KEY SHARE" if held else ""
        return f"AND EXISTS (SELECT 1 FROM owners o WHERE o.session = {session} AND o.gateway = '{self.me}' {lock})"  # noqa: S608 - ours

    def unanswered(self, conversation: int, message: int) -> bool:
        if self._roll is None:
            return False
        return self.one(BEFORE, conversation, message) is not None

    def stir(self, session: str, chat: Chat | None = None) -> None:
        if self._roll is None:
            return
        owner = self.own(session)
        if owner != self.me:
            note = Note(WORK, session) if chat is None else Note(ROWS, session, asdict(chat))
            self.notes.append((owner, note))

    def _moved(self, session: str, wanted: str) -> str:
        """The gateway where it is now. Whoever takes something in there meanwhile is waited for: that may keep it
        where it is."""
        self.hold(session, alone=True)
        if not self.one(AT_WORK, session, session):
            self.run(MOVED, wanted, session)
        return self._owner(session, wanted)

    def _owner(self, session: str, wanted: str) -> str:
        """`wanted`, where no gateway has it, or this one, where that is gone too. Whoever has it may go between any
        two statements."""
        while (row := self.one("SELECT gateway FROM owners WHERE session = ?", session)) is None:
            if wanted == self.me:
                self.run(
                    "INSERT INTO owners (session, gateway) VALUES (?, ?) ON CONFLICT DO NOTHING", session, wanted
                )
            elif not self.run(PLACED, session, wanted):
                wanted = self.me
        return row[0]

    def close(self) -> None:
        """What was left for the end of the step: nothing that anybody waits for comes after it."""
        if self._ends:
            self.one("SELECT pg_advisory_xact_lock(?)", CHAIN)
            for act in self._ends:
                act()

    def _execute(self, sql: str, values: tuple[object, ...]) -> Cursor[Row]:
        cursor = self._connection.execute(*bound(sql, values))
        # Of a SELECT, rowcount is what it has found.
        self.changed = self.changed or (cursor.rowcount > 0 and not sql.lstrip().startswith("SELECT"))
        return cursor
