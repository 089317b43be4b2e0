"""What files hold, as digests: of each file of a folder, or of a large folder as a whole. Keeps nothing on disk."""

from __future__ import annotations

import errno
import os
import stat
import time
from collections.abc import Iterable, Iterator
from hashlib import file_digest, sha256

MANY = 1000
"""Names below one path. A folder with more counts as one, by what `lstat` says of everything in it."""
MOST = 20_000
"""Of a folder with more only what lies in it directly is looked at."""
_SETTLED_S = 2.0
"""A file that was changed less long ago may change once more within the same tick of the kernel's clock."""

_Stamp = tuple[int, ...]


class Digests:
    """Remembers what it has read: a look at unchanged files is an `lstat` each. Not for two threads at once."""

    def __init__(self) -> None:
        self._known: dict[str, tuple[_Stamp, str]] = {}

    def below(self, paths: Iterable[str]) -> dict[str, str]:
        """By path, for each of these that is there, and for all in it. A link that is named itself is followed, one
        that lies in a folder is not. Raises nothing: what cannot be read has a digest of its own. Blocks."""
        found: dict[str, str] = {}
        # In this order whatever order they come in: what is named itself stands above what its folder says of it.
        for path in sorted(set(paths)):
            found.update(self._of(path))
        return found

    def _of(self, path: str) -> dict[str, str]:
        try:
            status = os.stat(path)
        except OSError as error:
            # A link to nowhere, or a folder that may not be entered, is not the same as nothing.
            return {path: f"unreadable: {error.errno}"} if os.path.lexists(path) else {}
        if not stat.S_ISDIR(status.st_mode):
            return {path: self._file(path, status)}
        names = list(_up_to(MOST + 1, _everything(path)))
        if len(names) <= MANY:
            return {name: self._file(name, it) for name, it in names if not stat.S_ISDIR(it.st_mode)}
        shallow = len(names) > MOST
        whole = sha256()
        for name, it in ((name, it) for name, it in names if not shallow or os.path.dirname(name) == path):
            whole.update(repr((name, _stamp(it))).encode("utf-8", "surrogateescape"))
        return {path: whole.hexdigest()}

    def _file(self, path: str, status: os.stat_result) -> str:
        stamp, known = _stamp(status), self._known.get(path)
        if known is not None and known[0] == stamp:
            return known[1]
        now = time.time()
        digest = _content(path, status)
        if status.st_ctime < now - _SETTLED_S:
            self._known[path] = stamp, digest
        return digest


def changed_since(path: str, since: float) -> bool:
    """Whether anything there, or the folder it lies in, has changed after this time (seconds). Blocks."""
    try:
        newest = [os.stat(path).st_ctime]
    except OSError:
        return os.path.lexists(path)
    if os.path.isdir(path):
        newest += [it.st_ctime for _name, it in _up_to(MOST, _everything(path))]
    return max(newest) >= since


def _content(path: str, status: os.stat_result) -> str:
    try:
        if stat.S_ISLNK(status.st_mode):
            return f"link: {os.readlink(path)}"
        if not stat.S_ISREG(status.st_mode):
            return f"no file: {status.st_mode:o}"
        with open(os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC), "rb") as file:
            return file_digest(file, "sha256").hexdigest()
    except OSError as error:
        return f"unreadable: {errno.errorcode.get(error.errno or 0, 'unknown')}"


def _stamp(status: os.stat_result) -> _Stamp:
    it = status
    return (it.st_dev, it.st_ino, it.st_mode, it.st_size, it.st_mtime_ns, it.st_ctime_ns)


def _everything(folder: str) -> Iterator[tuple[str, os.stat_result]]:
    """Links in it are not followed; always in the same order."""
    waiting = [folder]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = sorted(entries, key=lambda entry: os.fsencode(entry.name))
        except OSError:
            continue
        for entry in found:
            try:
                status = entry.stat(follow_symlinks=False)
            except OSError:
                continue
            yield entry.path, status
            if stat.S_ISDIR(status.st_mode):
                waiting.append(entry.path)


def _up_to(most: int, entries: Iterator[tuple[str, os.stat_result]]) -> Iterator[tuple[str, os.stat_result]]:
    for number, entry in enumerate(entries):
        if number >= most:
            return
        yield entry
