"""Private folders in the temporary directory: each is removed by its owner, and by the next gateway where that was
killed. Knows nothing of what is put into them.
"""

from __future__ import annotations

import fcntl
import os
import tempfile
import time
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import trio

OWNER = ".owner"
"""A file in each folder that its owner holds locked, for as long as it lives."""
YOUNG_S = 60.0
"""A folder may be younger than its lock."""
LONG_PATH = 300
"""In characters. A name that follows still fits in a path, and looking it up is quick."""
MOST = 200
"""Folders that one sweep removes: it runs beside the start of a chat."""


@asynccontextmanager
async def open_private_folder(prefix: str) -> AsyncGenerator[Path]:
    """A new folder for this user alone, removed at the end with all that is in it. Raises OSError."""
    folder, lock = await trio.to_thread.run_sync(_made, prefix)
    try:
        yield folder
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(remove, folder)
        os.close(lock)


async def sweep(prefix: str, young_s: float = YOUNG_S) -> None:
    """Remove what killed owners have left; what cannot be removed stays."""
    await trio.to_thread.run_sync(_sweep, prefix, young_s, abandon_on_cancel=True)


def _made(prefix: str) -> tuple[Path, int]:
    # Walls are drawn along real paths.
    folder = Path(tempfile.mkdtemp(prefix=prefix)).resolve()
    lock = os.open(folder / OWNER, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    fcntl.flock(lock, fcntl.LOCK_EX)
    return folder, lock


def _sweep(prefix: str, young_s: float) -> None:
    for _, folder in zip(range(MOST), _left_behind(prefix, time.time() - young_s), strict=False):
        remove(Path(folder))


def _left_behind(prefix: str, before: float) -> Iterator[str]:
    with os.scandir(tempfile.gettempdir()) as entries:
        for entry in entries:
            if entry.name.startswith(prefix) and _is_nobodys(entry.path, before):
                yield entry.path


def _is_nobodys(folder: str, before: float) -> bool:
    """Whether it is ours, old enough, and its owner gone."""
    with suppress(OSError):
        lock = os.open(os.path.join(folder, OWNER), os.O_RDWR | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            status = os.fstat(lock)
            if status.st_uid == os.geteuid() and status.st_mtime < before:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return True
        finally:
            os.close(lock)
    return False


# --- removal ---


def remove(base: Path) -> None:
    """Everything, however deep it is nested, and no link is followed; what cannot be removed stays. Blocks.

    Nobody else may write in `base` itself, and nothing runs in it.
    """
    waiting, moved = [str(base)], 0
    emptied: list[str] = []
    while waiting:
        folder = waiting.pop()
        emptied.append(folder)
        for entry in _readable(folder):
            if not entry.is_dir(follow_symlinks=False):
                with suppress(OSError):
                    os.unlink(entry.path)
                continue
            below = entry.path
            with suppress(OSError):
                os.chmod(below, 0o700)
                if len(below) > LONG_PATH:
                    # Out to the top: a path to it stays short, however deep it was.
                    moved += 1
                    os.rename(below, below := f"{base}/moved-{moved}")
                waiting.append(below)
    for folder in reversed(emptied):
        with suppress(OSError):
            os.rmdir(folder)


def _readable(folder: str) -> list[os.DirEntry[str]]:
    try:
        return entries_of(folder)
    except PermissionError:
        return []


def entries_of(folder: str) -> list[os.DirEntry[str]]:
    """Nothing of a folder that is gone. Raises PermissionError."""
    try:
        with os.scandir(folder) as entries:
            return list(entries)
    except PermissionError:
        raise
    except OSError:
        return []
