"""Files of messages for several gateways: in the database they share, and on the disk of each that has used them.

The database says what there is and whose; a disk has copies of it, which a file's digest names.
"""

from __future__ import annotations

import hashlib
from functools import partial
from time import time

import structlog

from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat.media import MediaFull, MediaReference
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.tables import Tables
from hookgate.store.media.sniffing import sniffed
from hookgate.store.media.store import FileMedia, MediaLimits

log = structlog.get_logger("hookgate.store")

TOUCH_S = 3600.0
"""How often the database hears that a file is still in use."""
MAX_TOUCHED = 10_000
MAKE = (
    """
    CREATE TABLE IF NOT EXISTS media (
        digest TEXT COLLATE "C" PRIMARY KEY, size BIGINT NOT NULL, used DOUBLE PRECISION NOT NULL,
        content BYTEA NOT NULL
    )
    """,
    """
    CREATE TABLE IF NOT EXISTS media_of (
        digest TEXT COLLATE "C" NOT NULL REFERENCES media ON DELETE CASCADE, sender TEXT COLLATE "C" NOT NULL,
        PRIMARY KEY (sender, digest)
    )
    """,
    "CREATE INDEX IF NOT EXISTS media_by_digest ON media_of (digest)",
)
"""`sender`: the hash of a user, as on a disk."""
SENT = "SELECT coalesce(sum(m.size), 0) FROM media m JOIN media_of o ON o.digest = m.digest WHERE o.sender = ?"
USED = "SELECT coalesce(sum(size), 0) FROM media"


class SharedMedia:
    """A MediaStore: `disk` is this gateway's."""

    def __init__(self, engine: Engine, disk: FileMedia) -> None:
        self._engine, self._disk = engine, disk
        self._touched: dict[str, float] = {}

    async def keep(self, content: bytes, by: str = "") -> MediaReference:
        reference = await self._disk.judge(content)
        await self._engine.write(partial(_keep, self._disk.limits, reference.digest, content, _sender(by)))
        await self._put(reference, content)
        return reference

    async def is_of(self, digest: str, user: str) -> bool:
        sql = "SELECT 1 FROM media_of WHERE sender = ? AND digest = ?"
        return await self._engine.read(lambda tables: tables.one(sql, _sender(user), digest)) is not None

    async def read(self, digest: str) -> tuple[str, bytes] | None:
        found = await self._disk.read(digest)
        if found is None:
            return await self._fetched(digest)
        await self._touch(digest)
        return found

    async def size(self, digest: str) -> int | None:
        found = await self._disk.size(digest)
        if found is None:
            fetched = await self._fetched(digest)
            return None if fetched is None else len(fetched[1])
        await self._touch(digest)
        return found

    async def _fetched(self, digest: str) -> tuple[str, bytes] | None:
        """What another gateway has kept; on this one's disk from now on, if there is room."""
        row = await self._engine.read(lambda tables: tables.one("SELECT content FROM media WHERE digest = ?", digest))
        if row is None:
            return None
        content = bytes(row[0])
        if hashlib.sha256(content).hexdigest() != digest:
            raise StoreFailed(f"the database has another content for the file {digest[:12]}")
        await self._touch(digest)
        await self._put(MediaReference(sniffed(content), digest), content)
        return sniffed(content), content

    async def _put(self, reference: MediaReference, content: bytes) -> None:
        """On this disk, where hooks read it, if there is room."""
        try:
            await self._disk.put(reference, content)
        except MediaFull as error:
            log.warning("file_not_on_disk", digest=reference.digest[:12], reason=str(error))

    async def _touch(self, digest: str) -> None:
        if time() - self._touched.get(digest, 0.0) < TOUCH_S:
            return
        self._touched.pop(digest, None)
        self._touched[digest] = time()
        if len(self._touched) > MAX_TOUCHED:
            del self._touched[next(iter(self._touched))]
        used = "UPDATE media SET used = ? WHERE digest = ?"
        await self._engine.write(lambda tables: tables.run(used, tables.clock(), digest))


def _keep(limits: MediaLimits, digest: str, content: bytes, sender: str, tables: Tables) -> None:
    """Raises MediaFull, and nothing has changed then."""
    now, size = tables.clock(), len(content)
    tables.hold("media", alone=True)
    is_new = not tables.run("UPDATE media SET used = ? WHERE digest = ?", now, digest)
    of_sender = "SELECT 1 FROM media_of WHERE sender = ? AND digest = ?"
    is_theirs = not sender or tables.one(of_sender, sender, digest) is not None

    def bound(most: int, why: str, sql: str, *values: object) -> None:
        if _sum(tables, sql, *values) + size > most:
            tables.run("DELETE FROM media WHERE used < ?", now - limits.lifetime_s)
            if _sum(tables, sql, *values) + size > most:
                raise MediaFull(why)

    if is_new:
        bound(limits.quota, "there is no room for more files", USED)
    if not is_theirs:
        megabytes = limits.user_quota / 1_000_000
        bound(limits.user_quota, f"you have sent all the files that one person may: {megabytes:g} MB", SENT, sender)
    if is_new:
        tables.run("INSERT INTO media (digest, size, used, content) VALUES (?, ?, ?, ?)", digest, size, now, content)
    if not is_theirs:
        tables.run("INSERT INTO media_of (digest, sender) VALUES (?, ?)", digest, sender)


def _sum(tables: Tables, sql: str, *values: object) -> int:
    row = tables.one(sql, *values)
    return int(row[0]) if row else 0


def _sender(user: str) -> str:
    return hashlib.sha256(user.encode()).hexdigest() if user else ""
