"""Where journals lie: in a file of this machine, or in a database that others reach too."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractAsyncContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.dataclasses import dataclass

if TYPE_CHECKING:
    from hookgate.protocol.chat.media import MediaStore
    from hookgate.protocol.journal.interfaces import Journal
    from hookgate.store.journal.engine.writer import Durability
    from hookgate.store.journal.opening import StoredJournal
    from hookgate.store.journal.tables import Tables
    from hookgate.store.media import FileMedia


@dataclass(frozen=True, slots=True)
class Database:
    """`address`: postgresql://USER@HOST:PORT/NAME, without a password. `beside`: what belongs to it on this machine
    (the signatures of its audit chain) has names that begin with this path's."""

    address: str
    beside: Path

    def __str__(self) -> str:
        parts = urlsplit(self.address)
        return f"PostgreSQL {parts.path.lstrip('/') or parts.username or ''} at {parts.hostname or 'this machine'}"


JournalPlace = Path | Database
SCHEMES = ("postgresql", "postgres")


def place_of(text: str) -> JournalPlace:
    """As `address_of` has written it."""
    return Database(text, Path()) if urlsplit(text).scheme in SCHEMES else Path(text)


def address_of(place: JournalPlace) -> str:
    return str(place.absolute()) if isinstance(place, Path) else place.address


def open_journal_at(
    place: JournalPlace, durability: Durability = "power", *, shared: bool = False
) -> AbstractAsyncContextManager[StoredJournal]:
    """The right to write it, which one gateway has at a time; `shared`: where it lies in a database, together with
    others. Raises StoreFailed and its kinds."""
    if isinstance(place, Path):
        from hookgate.store.journal.opening import open_journal

        return open_journal(place, durability)
    with needing_driver():
        from hookgate.store.postgres.opening import open_postgres_journal
    return open_postgres_journal(place, shared=shared)


def media_beside(journal: Journal, disk: FileMedia) -> MediaStore:
    """Where the files of its messages lie: on this disk, and in the database too, where it is in one."""
    from hookgate.store.journal.opening import StoredJournal

    if not isinstance(journal, StoredJournal) or isinstance(journal.place, Path):
        return disk
    from hookgate.store.postgres.media import SharedMedia

    return SharedMedia(journal.engine, disk)


@contextmanager
def open_look_at(place: JournalPlace) -> Generator[Tables]:
    """All of it at one moment; changes nothing, and blocks. Raises StoreFailed and its kinds, also for what is read
    within."""
    if isinstance(place, Path):
        from hookgate.store.journal.operators.looking import open_look

        with open_look(place) as tables:
            yield tables
        return
    with needing_driver():
        from hookgate.store.postgres.looking import open_look_shared
    with open_look_shared(place) as tables:
        yield tables


def is_there(place: JournalPlace) -> bool:
    """Whether anything can have been stored: a database says so itself."""
    return not isinstance(place, Path) or place.exists()


def refuse_missing(place: JournalPlace) -> None:
    """What is not there is not made. Raises StoreFailed and its kinds."""
    with open_look_at(place):
        pass


def beside(place: JournalPlace) -> Path:
    """What the names of files begin with that belong to it on this machine."""
    return place if isinstance(place, Path) else place.beside


@contextmanager
def needing_driver() -> Generator[None]:
    try:
        yield
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("hookgate"):
            raise
        raise StoreFailed(f"{error.name} is not installed: this needs `pip install 'hookgate[postgres]'`") from None
