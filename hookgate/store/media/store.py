"""Files by the hash of their content, in a private folder: bounded in size, in all and in time.

Knows no message: whoever refers to a file keeps it first, and a file that nobody has used for long goes.
"""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time

import trio

from hookgate.protocol.catalog import StoreFailed, StoreFull
from hookgate.protocol.media import MediaReference, MediaRefused
from hookgate.store.files import FOLDER_MODE, sync_folder
from hookgate.store.media.sniffing import check_picture, sniffed

_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """`largest` and `quota` in bytes: of one file, of all; `lifetime_s`: since somebody has last read or sent it."""

    largest: int = 20_000_000
    quota: int = 2_000_000_000
    lifetime_s: float = 90 * 86400.0
    pixels: int = 40_000_000


class FileMedia:
    """One process at a time: what is used is counted when it is opened, and kept up to date."""

    def __init__(self, folder: Path, limits: MediaLimits | None = None, clock: Callable[[], float] = time) -> None:
        self._folder, self._limits, self._clock = folder, limits or MediaLimits(), clock
        self._used: int | None = None
        self._writing = trio.Lock()

    async def keep(self, content: bytes) -> MediaReference:
        if len(content) > self._limits.largest:
            raise MediaRefused(f"a file has at most {self._limits.largest} bytes")
        if not content:
            raise MediaRefused("the file is empty")
        async with self._writing:
            return await trio.to_thread.run_sync(self._keep, content)

    async def read(self, digest: str) -> tuple[str, bytes] | None:
        return await trio.to_thread.run_sync(self._read, digest) if _DIGEST.fullmatch(digest) else None

    def _keep(self, content: bytes) -> MediaReference:
        type_ = sniffed(content)
        check_picture(content, type_, self._limits.pixels)
        reference = MediaReference(type_, hashlib.sha256(content).hexdigest())
        with self._named():
            if not self._touch(reference.digest):
                self._make_room(len(content))
                self._write(self._path(reference.digest), content)
                self._used = (self._used or 0) + len(content)
        return reference

    def _read(self, digest: str) -> tuple[str, bytes] | None:
        with self._named():
            if not self._touch(digest):
                return None
            content = self._path(digest).read_bytes()
            return sniffed(content), content

    def _touch(self, digest: str) -> bool:
        """Whether it is there; it is in use now."""
        try:
            os.utime(self._path(digest), (self._clock(), self._clock()))
        except FileNotFoundError:
            return False
        return True

    def _make_room(self, size: int) -> None:
        """What is too old goes, once it is in the way. Raises MediaRefused."""
        if self._used is None:
            self._used = sum(it.stat().st_size for it in self._files())
        if self._used + size <= self._limits.quota:
            return
        before = self._clock() - self._limits.lifetime_s
        for file in list(self._files()):
            seen = file.stat()
            if seen.st_mtime < before:
                file.unlink()
                self._used -= seen.st_size
        if self._used + size > self._limits.quota:
            raise MediaRefused("there is no room for more files")

    def _files(self) -> Iterator[Path]:
        return (it for it in self._folder.glob("??/*") if _DIGEST.fullmatch(it.name))

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def _write(self, path: Path, content: bytes) -> None:
        """Whole or not at all, also through a power cut: a message that refers to it may be stored next."""
        path.parent.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=path.parent, prefix=".", delete=False) as file:
            try:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise
        for folder in (path.parent, self._folder):
            sync_folder(folder)

    @contextmanager
    def _named(self) -> Generator[None]:
        try:
            yield
        except OSError as error:
            kind = StoreFull if error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG) else StoreFailed
            raise kind(f"{self._folder}: {error.strerror or error}") from None
