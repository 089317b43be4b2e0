"""Which extensions of projects a person has agreed to run: a file for each folder, with a digest of all in it.

Asks nobody and starts nothing. What the folder leads to outside of itself is not looked at.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import field
from hashlib import file_digest, sha256
from io import BufferedReader
from itertools import islice
from pathlib import Path
from typing import Any, Literal, cast

from hookgate.extensions.whole import write_whole
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage

MAX_FILES = 20_000
MAX_BYTES = 256 * 1024 * 1024
"""Of all files together: more would keep a start waiting for seconds."""
MAX_DEPTH = 100
MAX_KEPT_BYTES = 64 * 1024
"""Of a file that keeps an agreement: a path and a digest."""


class Unreadable(Exception):
    """The folder cannot be looked through; the text says why."""


@dataclass(frozen=True, slots=True)
class Standing:
    """`changed`: what was agreed to was something else. `sha256` is of what is there now; `unreadable` has a reason
    in its place."""

    kind: Literal["trusted", "new", "changed", "unreadable"]
    sha256: str = ""
    reason: str = ""


TRUSTED = Standing("trusted")


@dataclass(frozen=True, slots=True)
class Trust:
    """`folder` keeps what outlives this process; it need not exist."""

    folder: Path
    _agreed: dict[str, str] = field(default_factory=dict[str, str])

    def standing(self, directory: Path) -> Standing:
        """Where the folder of an extension stands, as it is now."""
        agreed = self._agreed_to(_key(directory))
        try:
            now = digest(directory)
        except Unreadable as error:
            return Standing("unreadable", reason=str(error))
        if agreed == now:
            return Standing("trusted", now)
        return Standing("changed" if agreed else "new", now)

    def agree(self, directory: Path, contents: str) -> None:
        """What has this digest may run. Raises OSError where that cannot be kept; for this object it counts all the
        same."""
        key = _key(directory)
        self._agreed[key] = contents
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        kept = encode({"directory": _text(key), "sha256": contents}) + b"\n"
        write_whole(self._file(key), kept, 0o600)

    def forget(self, directory: Path) -> bool:
        """Whether there was anything to forget. Raises OSError."""
        key = _key(directory)
        known = bool(self._agreed_to(key))
        self._agreed.pop(key, None)
        with suppress(FileNotFoundError):
            self._file(key).unlink()
        return known

    def _agreed_to(self, key: str) -> str:
        """The digest; empty where there is none, or none that can be read."""
        if key in self._agreed:
            return self._agreed[key]
        try:
            with _opened(str(self._file(key))) as file:
                kept = decode(file.read(MAX_KEPT_BYTES))
        except (OSError, BadMessage):
            return ""
        members = cast("dict[str, Any]", kept) if isinstance(kept, dict) else {}
        return str(members.get("sha256", "")) if members.get("directory") == _text(key) else ""

    def _file(self, key: str) -> Path:
        return self.folder / f"{sha256(os.fsencode(key)).hexdigest()}.json"


def digest(directory: Path) -> str:
    """SHA-256 over the names, modes and contents of everything in the folder; of a link where it leads.

    Raises Unreadable: a file that may not be read, or more than MAX_FILES, MAX_BYTES or MAX_DEPTH.
    """
    whole, left = sha256(), MAX_BYTES
    root = os.path.realpath(directory)
    try:
        for number, (name, status) in enumerate(_everything(root)):
            if number >= MAX_FILES:
                raise Unreadable(f"it holds more than {MAX_FILES} files")
            left -= status.st_size if stat.S_ISREG(status.st_mode) else 0
            if left < 0:
                raise Unreadable(f"it holds more than {MAX_BYTES >> 20} MiB")
            for part in (os.fsencode(name), b"%o" % status.st_mode, _content(os.path.join(root, name), status)):
                whole.update(b"%d:" % len(part) + part)
    except OSError as error:
        raise Unreadable(f"{error.filename}: {error.strerror}") from None
    return whole.hexdigest()


def _everything(root: str) -> Iterator[tuple[str, os.stat_result]]:
    """Names relative to the root, always in the same order; links are not followed. Raises OSError, Unreadable."""
    waiting = _inside(root, "")
    while waiting:
        name = waiting.pop()
        status = os.lstat(os.path.join(root, name))
        yield name, status
        if stat.S_ISDIR(status.st_mode):
            if name.count(os.sep) >= MAX_DEPTH:
                raise Unreadable(f"its folders are more than {MAX_DEPTH} levels deep")
            waiting.extend(_inside(root, name))


def _inside(root: str, folder: str) -> list[str]:
    """The last comes first. Of too many one more than is allowed, so that whoever counts sees it."""
    with os.scandir(os.path.join(root, folder)) as entries:
        names = [entry.name for entry in islice(entries, MAX_FILES + 1)]
    return [os.path.join(folder, name) for name in sorted(names, key=os.fsencode, reverse=True)]


def _content(path: str, status: os.stat_result) -> bytes:
    if stat.S_ISLNK(status.st_mode):
        return os.fsencode(os.readlink(path))
    if not stat.S_ISREG(status.st_mode):
        return b""
    with _opened(path) as file:
        return file_digest(file, "sha256").digest()


def _opened(path: str) -> BufferedReader:
    """A regular file. Raises OSError for anything else: somebody may have put a pipe there, which would never end."""
    descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    if not stat.S_ISREG(os.fstat(descriptor).st_mode):
        os.close(descriptor)
        raise OSError(errno.EINVAL, "no regular file", path)
    return open(descriptor, "rb")


def _key(directory: Path) -> str:
    """One folder has one name, whatever links lead to it."""
    return os.path.realpath(directory)


def _text(key: str) -> str:
    """For people, and for JSON, which takes no name that is not UTF-8: the file's own name tells such names apart."""
    return os.fsencode(key).decode("utf-8", "backslashreplace")
