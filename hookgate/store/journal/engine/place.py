"""Where the journal lies: a private file of one gateway, on a disk of this machine. Blocks; knows no table."""

from __future__ import annotations

import fcntl
import os
import sqlite3
from collections.abc import Generator
from contextlib import closing, contextmanager, suppress
from pathlib import Path

from hookgate.protocol.catalog import StoreBusy, StoreCorrupt, StoreFailed
from hookgate.store.files import BUSY_S, FILE_MODE, make_folder, migrate, named, sync_folder, version_of
from hookgate.store.journal.schema import JOURNAL

MOUNTS = Path("/proc/self/mountinfo")
REMOTE = frozenset(
    {
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "smb", "ncpfs", "afs", "ceph", "9p", "lustre", "gfs2", "ocfs2"),
        *("glusterfs", "beegfs", "davfs", "vboxsf", "prl_fs", "fuse.sshfs", "fuse.glusterfs", "fuse.s3fs"),
        *("fuse.rclone", "fuse.cephfs", "fuse.davfs2", "fuse.gvfsd-fuse", "fuse.vmhgfs-fuse"),
    }
)
"""Kinds of file systems on which locks and shared memory are not to be relied on."""
WAL_LIMIT_BYTES = 64 << 20
"""What is left of a log that had to grow."""


@contextmanager
def locked(path: Path) -> Generator[None]:
    """The right to write the journal, which one process has at a time: as long as it lives, whatever it has started
    meanwhile. Raises StoreBusy where another has it, and StoreReadOnly."""
    with named(path):
        make_folder(path.parent)
        refuse_remote(path)
        side = os.open(f"{path}.lock", os.O_CREAT | os.O_RDWR | os.O_CLOEXEC | os.O_NOFOLLOW, FILE_MODE)
    try:
        try:
            fcntl.flock(side, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StoreBusy(f"{path} is in use by another hookgate{_holder(side)}") from None
        with named(path):
            os.ftruncate(side, 0)
            os.pwrite(side, f"{os.getpid()}\n".encode(), 0)
        yield
    finally:
        os.close(side)


def writer_of(path: Path) -> int:
    """The process that has the right to write the journal; 0: none has, as far as it can be known."""
    try:
        side = os.open(f"{path}.lock", os.O_RDONLY | os.O_CLOEXEC | os.O_NOFOLLOW)
    except OSError:
        return 0
    try:
        said = _said(side)
        process = int(said) if said.isdigit() else 0
        # Whoever takes it just now must not find it taken: one that is gone has left its number.
        if process and _lives(process):
            with suppress(BlockingIOError):
                fcntl.flock(side, fcntl.LOCK_SH | fcntl.LOCK_NB)
                process = 0
            return process
    finally:
        os.close(side)
    return 0


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def _holder(side: int) -> str:
    said = _said(side)
    return f" (process {said})" if said.isdigit() else ""


def _said(side: int) -> str:
    return os.pread(side, 20, 0).decode("ascii", "replace").strip()


def refuse_remote(path: Path) -> None:
    """Raises StoreFailed for a place on another machine."""
    try:
        mounts = MOUNTS.read_text("utf-8", "replace")
    except OSError:
        return
    kind = file_system(path.parent.resolve(), mounts)
    if kind in REMOTE:
        raise StoreFailed(f"lies on a network file system ({kind}): the journal needs a disk of this machine")


def file_system(folder: Path, mounts: str) -> str:
    """The kind of the file system that it lies on, from what /proc/self/mountinfo says; empty: not known."""
    found, longest = "", -1
    for line in mounts.splitlines():
        before, _, after = line.partition(" - ")
        words, kind = before.split(), after.split()
        if len(words) < 5 or not kind:
            continue
        point = words[4].encode().decode("unicode_escape")
        # The last mount on a place hides those before it.
        if folder.is_relative_to(point) and len(point) >= longest:
            found, longest = kind[0], len(point)
    return found


def make_journal(path: Path) -> None:
    """A journal, where there is none: it gets its name when it is whole. Raises StoreFailed, and StoreCorrupt where
    something else stands there."""
    with named(path):
        if path.exists():
            if path.stat().st_size == 0:
                raise StoreCorrupt("is empty, which a journal never is; it was left as it is")
            return
        if Path(f"{path}-wal").exists():
            raise StoreCorrupt("is missing, but its log (-wal) is there; both were left as they are")
        half = Path(f"{path}.new")
        for leftover in (half, Path(f"{half}-wal"), Path(f"{half}-shm")):
            leftover.unlink(missing_ok=True)
        os.close(os.open(half, os.O_CREAT | os.O_EXCL | os.O_RDWR | os.O_CLOEXEC, FILE_MODE))
        with closing(sqlite3.connect(half, isolation_level=None)) as connection:
            connection.execute("PRAGMA synchronous = FULL")
            migrate(connection, JOURNAL)
        os.rename(half, path)
        sync_folder(path.parent)


def look_at(path: Path) -> sqlite3.Connection:
    """A connection that changes nothing, to a journal that a gateway may be writing. Raises StoreFailed and its
    kinds, StoreCorrupt for what is no journal."""
    with named(path):
        if not path.exists():
            raise StoreFailed("is not there: nothing has been stored in it yet")
        if path.stat().st_size == 0:
            raise StoreCorrupt("is empty, which a journal never is; it was left as it is")
        connection = _connect(path, "ro")
        try:
            if version_of(connection, JOURNAL) == 0:
                raise StoreCorrupt("is the database of another program")
        except BaseException:
            connection.close()
            raise
    return connection


def open_to_write(path: Path) -> sqlite3.Connection:
    """The writer's connection, after older files have been brought up to date. Raises as `look_at`."""
    look_at(path).close()
    with named(path):
        path.chmod(FILE_MODE)
        connection = _connect(path, "rw")
        try:
            migrate(connection, JOURNAL)
            # A backup that takes the journal's place has none.
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute(f"PRAGMA journal_size_limit = {WAL_LIMIT_BYTES}")
        except BaseException:
            connection.close()
            raise
    return connection


def _connect(path: Path, mode: str) -> sqlite3.Connection:
    # As an address: without this, a file that is missing would be made.
    address = f"{path.absolute().as_uri()}?mode={mode}"
    return sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None, check_same_thread=False)
