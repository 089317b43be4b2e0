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
from dataclasses import field
from pathlib import Path
from tempfile import NamedTemporaryFile
from time import time

import trio

from hookgate.protocol.catalog import StoreFailed, StoreFull
from hookgate.protocol.chat.media import MediaFull, MediaReference, MediaRefused
from hookgate.protocol.dataclasses import dataclass
from hookgate.store.files import make_folder, sync_folder
from hookgate.store.media.sniffing import Most, check, sniffed

JUDGED_AT_ONCE = 2
"""What it costs to look into files of strangers is bounded in all."""
MAX_KNOWN = 1000
"""Users whose files are counted in memory."""
_DIGEST = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True)
class MediaLimits:
    """`largest`, `quota` and `user_quota` in bytes: of one file, of all, of those that one user has sent;
    `lifetime_s`: since somebody has last read or sent it."""

    largest: int = 20_000_000
    quota: int = 2_000_000_000
    user_quota: int = 500_000_000
    lifetime_s: float = 90 * 86400.0
    most: Most = field(default_factory=Most)


class FileMedia:
    """One process at a time: what is used is counted when it is opened, and kept up to date."""

    def __init__(self, folder: Path, limits: MediaLimits | None = None, clock: Callable[[], float] = time) -> None:
        self._folder, self.limits, self._clock = folder, limits or MediaLimits(), clock
        self._used: int | None = None
        self._sent: dict[str, dict[str, int]] = {}
        self._writing, self._judging = trio.Lock(), trio.CapacityLimiter(JUDGED_AT_ONCE)

    async def keep(self, content: bytes, by: str = "") -> MediaReference:
        reference = await self.judge(content)
        await self.put(reference, content, by)
        return reference

    async def judge(self, content: bytes) -> MediaReference:
        """What would refer to it. Raises MediaRefused for what is not taken, room or no room."""
        if len(content) > self.limits.largest:
            raise MediaRefused(f"a file has at most {self.limits.largest} bytes")
        if not content:
            raise MediaRefused("the file is empty")
        # Nobody waits for what somebody else's archive costs to look at.
        type_ = await trio.to_thread.run_sync(self._checked, content, limiter=self._judging)
        return MediaReference(type_, hashlib.sha256(content).hexdigest())

    async def put(self, reference: MediaReference, content: bytes, by: str = "") -> None:
        """What was judged. Raises MediaFull and StoreFailed."""
        async with self._writing:
            await trio.to_thread.run_sync(self._put, reference, content, by)

    async def is_of(self, digest: str, user: str) -> bool:
        return await trio.to_thread.run_sync(self._is_of, digest, user) if _DIGEST.fullmatch(digest) else False

    async def read(self, digest: str) -> tuple[str, bytes] | None:
        return await trio.to_thread.run_sync(self._read, digest) if _DIGEST.fullmatch(digest) else None

    async def size(self, digest: str) -> int | None:
        return await trio.to_thread.run_sync(self._size, digest) if _DIGEST.fullmatch(digest) else None

    def _size(self, digest: str) -> int | None:
        with self._named():
            return self._path(digest).stat().st_size if self._touch(digest) else None

    def _checked(self, content: bytes) -> str:
        """Its type. Raises MediaRefused."""
        type_ = sniffed(content)
        check(content, type_, self.limits.most)
        return type_

    def _put(self, reference: MediaReference, content: bytes, by: str) -> None:
        with self._named():
            if by:
                self._count(by, reference.digest, len(content))
            if not self._touch(reference.digest):
                self._make_room(len(content))
                self._write(self._path(reference.digest), content)
                self._used = (self._used or 0) + len(content)
            if by:
                self._of(by)[reference.digest] = len(content)

    def _is_of(self, digest: str, user: str) -> bool:
        with self._named():
            return (self._user(user) / digest).exists() and self._path(digest).exists()

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
        if self._used + size <= self.limits.quota:
            return
        self._used -= self._drop_unused()
        if self._used + size > self.limits.quota:
            raise MediaFull("there is no room for more files")

    def _drop_unused(self) -> int:
        """How many bytes that were."""
        before, dropped = self._clock() - self.limits.lifetime_s, 0
        for file in list(self._files()):
            seen = file.stat()
            if seen.st_mtime < before:
                file.unlink()
                dropped += seen.st_size
        self._sent.clear()
        return dropped

    def _count(self, by: str, digest: str, size: int) -> None:
        """It is theirs from here on, though it may not be written: what is not there counts for nobody. Raises
        MediaFull."""
        if digest in self._of(by):
            return
        if sum(self._of(by).values()) + size > self.limits.user_quota:
            dropped = self._drop_unused()
            self._used = None if self._used is None else self._used - dropped
            if sum(self._of(by).values()) + size > self.limits.user_quota:
                most = self.limits.user_quota / 1_000_000
                raise MediaFull(f"you have sent all the files that one person may: {most:g} MB")
        folder = self._user(by)
        make_folder(folder)
        (folder / digest).touch(mode=0o600)

    def _of(self, by: str) -> dict[str, int]:
        """Sizes of what this user has sent and is still there."""
        found = self._sent.get(by)
        if found is None:
            found = self._sent[by] = dict[str, int]()
            for mark in self._user(by).glob("*"):
                try:
                    found[mark.name] = self._path(mark.name).stat().st_size
                except FileNotFoundError:
                    mark.unlink()
            if len(self._sent) > MAX_KNOWN:
                del self._sent[next(iter(self._sent))]
        return found

    def _user(self, by: str) -> Path:
        """Empty files, named as what they have sent."""
        return self._folder / "users" / hashlib.sha256(by.encode()).hexdigest()

    def _files(self) -> Iterator[Path]:
        return (it for it in self._folder.glob("??/*") if _DIGEST.fullmatch(it.name))

    def _path(self, digest: str) -> Path:
        return self._folder / digest[:2] / digest

    def _write(self, path: Path, content: bytes) -> None:
        """Whole or not at all, also through a power cut: a message that refers to it may be stored next."""
        make_folder(path.parent)
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
