"""A copy of a journal that is whole, made while a gateway goes on writing. Blocks.

In one step and on a connection of its own: one that reads in pieces would begin again at each commit, and the writer
waits for none of it. What is written meanwhile stays in the log until the copy is done.
"""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

from hookgate.protocol.catalog import StoreCorrupt, StoreFailed
from hookgate.store.files import FILE_MODE, named, sync_folder
from hookgate.store.journal.engine.place import look_at


def back_up(path: Path, to: Path) -> int:
    """How many bytes the copy has; it gets its name when it is whole and on the disk. Raises StoreFailed."""
    half = Path(f"{to}.new")
    with closing(look_at(path)) as source, named(to):
        if os.path.lexists(to):
            raise StoreFailed("is there already: a backup overwrites nothing")
        os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
        try:
            _copy(path, source, half)
            os.link(half, to)
            sync_folder(to.parent)
        finally:
            half.unlink()
        return to.stat().st_size


def _copy(path: Path, source: sqlite3.Connection, half: Path) -> None:
    with closing(sqlite3.connect(half, isolation_level=None)) as target:
        source.backup(target)
        # One file, which can be looked at where nothing can be written.
        target.execute("PRAGMA journal_mode = DELETE")
        [[said]] = target.execute("PRAGMA quick_check(1)").fetchall()
    if said != "ok":
        raise StoreCorrupt(f"is not kept: {path} is damaged ({said})")
    descriptor = os.open(half, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
