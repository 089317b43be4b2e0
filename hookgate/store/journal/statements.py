"""Statements over one connection to where a journal lies, and what there is to heed where others write there too."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.alone import ME

Row = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Coming:
    """A message as it is stored. `here`: as in `Statements.own`."""

    session: str
    agent: str
    key: bytes | None
    kind: str
    body: bytes
    here: bool


@dataclass(frozen=True, slots=True)
class Added:
    """Numbers of a message and its conversation, with the generation that goes on there; 0: it is not stored.
    `behind`: as in `Accepted`."""

    number: int = 0
    conversation: int = 0
    generation: int = 0
    behind: bool = False


class Statements:
    """`clock`: seconds of the wall clock. A file has one writer; where there are several, a step holds what it is
    about to change until it ends. `place`: where the tables lie, where that is no file; `me`: who
    asks."""

    place = ""
    me = ME

    def __init__(self, connection: Connection, clock: Callable[[], float]) -> None:
        self.connection = connection
        self.clock = clock

    # --- reading ---

    def one(self, sql: str, *values: object) -> Row | None:
        return self.connection.execute(sql, values).fetchone()

    def all(self, sql: str, *values: object) -> list[Row]:
        return self.connection.execute(sql, values).fetchall()

    def each(self, sql: str, *values: object) -> Iterator[Row]:
        """One by one: there may be more than memory holds."""
        return self.connection.execute(sql, values)

    def has(self, table: str) -> bool:
        """A journal that an older hookgate wrote, and that none has opened since, lacks those that came later."""
        return self.one("SELECT 1 FROM sqlite_master WHERE name = ?", table) is not None

    def run(self, sql: str, *values: object) -> int:
        """How many rows it has changed."""
        return self.connection.execute(sql, values).rowcount

    def add(self, sql: str, *values: object) -> int:
        """The number of the row that it has added; 0: none."""
        cursor = self.connection.execute(sql, values)
        return cursor.lastrowid or 0 if cursor.rowcount > 0 else 0

    def used_bytes(self) -> int:
        """Without the pages that are free to be used again."""
        pages, free, size = (self.one(f"PRAGMA {it}") for it in ("page_count", "freelist_count", "page_size"))
        return (pages[0] - free[0]) * size[0] if pages and free and size else 0

    def damaged(self, most: int) -> list[str]:
        """What is wrong with its pages and indexes, in so many lines at most."""
        return [row[0] for row in self.all(f"PRAGMA integrity_check({most})") if row[0] != "ok"]

    def written(self, path: Path) -> tuple[int, float]:
        """Bytes on the disk, and when something was written last."""
        found = [it.stat() for it in (path, Path(f"{path}-wal")) if it.exists()]
        return sum(it.st_size for it in found), max(it.st_mtime for it in found)

    # --- one writer among several ---

    def held(self, sql: str, *values: object) -> Row | None:
        """As `one`: what nobody else changes now."""
        return self.one(sql, *values)

    def free(self, sql: str, *values: object) -> Row | None:
        """As `held`, of a statement with the tables c and m: the first that nobody else holds."""
        return self.one(sql, *values)

    def hold(self, session: str, *, alone: bool = False) -> None:
        """Until this step ends, nothing begins anew in the session; `alone`: nothing is accepted there either."""

    def lock(self, conversation: int) -> None:
        """Until this step ends, nobody else writes there, nor is anything accepted."""

    def last(self, act: Callable[[], None]) -> None:
        """The end of the step: what all steps that write have to wait for each other with."""
        act()

    def go_on_counting(self, table: str) -> None:
        """The next number is above all that are there, however they came."""

    # --- one gateway among several ---

    def own(self, session: str, *, here: bool = True) -> str:
        """The gateway where this conversation is from now on: where it is already, unless it rests. `here`: this
        one is as good as any other, since whoever asks waits here."""
        return self.me

    def accept_together(self, coming: Sequence[Coming]) -> list[Added]:
        """In one trip, of each whether that was enough. Empty: here the steps are made one by one."""
        return []

    def unanswered(self, conversation: int, message: int) -> bool:
        """Whether others wait there before this one, which another gateway may have taken in."""
        return False

    def mine(self, session: str, *, held: bool = False) -> str:
        """What is added to the conditions of a statement, so that it finds what this gateway has alone. `session`:
        the column. `held`: until this step is stored nobody takes it away."""
        return ""

    def stir(self, session: str, chat: Chat | None = None) -> None:
        """Whoever has that conversation hears, once this is stored, that there is something to do; of a chat: to
        bring there."""
