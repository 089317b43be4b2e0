"""How files of the workspace look at one moment, and what differs between two. Blocks; starts no thread."""

from __future__ import annotations

import os
import stat
from collections import deque
from collections.abc import Iterable, Mapping
from contextlib import AbstractContextManager, suppress
from dataclasses import field
from hashlib import sha256
from time import monotonic

from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values.effects import FileEffect
from hookgate.tools.errors import ToolError
from hookgate.tools.files.observe_paths import Parts, shown_path
from hookgate.tools.files.workspace import Workspace, WorkspacePath, lies_in
from hookgate.tools.opening import READ

MAX_HASHED_BYTES = 1024 * 1024
MAX_ENTRIES = 2000
MAX_SECONDS = 0.2
MAX_EFFECTS = 200

CROWDED = frozenset({".git", "node_modules", ".venv", "__pycache__"})
"""Folders full of files that nobody wrote by hand: looked into when everything else has been seen."""


@dataclass(frozen=True, slots=True)
class Seen:
    """One file. `digest` is empty for what is too large, cannot be read, or came when the time was up."""

    inode: tuple[int, int]
    size: int
    mtime_ns: int
    ctime_ns: int
    digest: bytes = b""

    def differs(self, other: Seen) -> bool:
        """Whether the content is another one, as far as can be told."""
        if self.digest and other.digest:
            return self.digest != other.digest
        return (self.inode, self.size, self.mtime_ns) != (other.inode, other.size, other.mtime_ns)

    def moved(self, other: Seen) -> bool:
        """Whether it is the very same file: a new one may get the number of one that was just removed."""
        return (self.inode, self.size, self.mtime_ns) == (other.inode, other.size, other.mtime_ns)


@dataclass(frozen=True, slots=True)
class ScanLimits:
    """What one scan may cost: entries of folders, seconds, and the size of a file that is read at all.

    `crowded`: whether the folders of that kind are looked into, where they are not named themselves.
    """

    entries: int = MAX_ENTRIES
    seconds: float = MAX_SECONDS
    hashed: int = MAX_HASHED_BYTES
    crowded: bool = True


@dataclass(slots=True)
class Scan:
    """What was seen. `complete`: all there was below the folders that were named."""

    files: dict[Parts, Seen] = field(default_factory=dict[Parts, Seen])
    complete: bool = True


def scan(
    workspace: Workspace, named: Iterable[Parts], limits: ScanLimits, known: Mapping[Parts, Seen] | None = None
) -> Scan:
    """The named files, and those below named folders, within the limits; shallow ones first.

    `known` are files as they were before: each is looked at, and what has not changed is not read again.
    """
    return _Look(workspace, limits, known or {}).run(named)


class _Look:
    def __init__(self, workspace: Workspace, limits: ScanLimits, known: Mapping[Parts, Seen]) -> None:
        self._workspace, self._limits, self._known = workspace, limits, known
        self._withheld = workspace.hidden()
        self._begun = monotonic()
        self._left = limits.entries
        self._scan = Scan()
        self._named = frozenset[Parts]()
        self._folders: deque[Parts] = deque()
        self._last: deque[Parts] = deque()

    def run(self, named: Iterable[Parts]) -> Scan:
        self._named = frozenset(named)
        self._look(self._named)
        walked = set[Parts]()
        while self._folders or self._last:
            parts = (self._folders or self._last).popleft()
            if parts not in walked:
                walked.add(parts)
                self._walk(parts)
        # What the walk has not met is gone, or was beyond the limits.
        self._look(self._known.keys() - self._scan.files.keys())
        return self._scan

    def _look(self, files: Iterable[Parts]) -> None:
        for parts in files:
            try:
                self._look_at(parts)
            except PermissionError:
                # Out of sight is not gone.
                if parts in self._known:
                    self._scan.files[parts] = self._known[parts]
            except (OSError, ToolError):
                continue

    def _look_at(self, parts: Parts) -> None:
        with self._opened(parts) as folder:
            name = parts[-1] if parts else "."
            self._add(folder, parts, name, os.stat(name, dir_fd=folder, follow_symlinks=False))

    def _opened(self, parts: Parts) -> AbstractContextManager[int]:
        return self._workspace.folder(WorkspacePath("", parts), "observe")

    def _walk(self, parts: Parts) -> None:
        with suppress(OSError, ToolError), self._opened((*parts, "")) as folder, os.scandir(folder) as entries:
            for entry in entries:
                if self._left <= 0 or self._spent(1.0):
                    self._scan.complete = False
                    return
                self._left -= 1
                if (*parts, entry.name) in self._scan.files:
                    continue
                with suppress(OSError):
                    self._add(folder, (*parts, entry.name), entry.name, entry.stat(follow_symlinks=False))

    def _add(self, folder: int, parts: Parts, name: str, status: os.stat_result) -> None:
        if lies_in(parts, self._withheld):
            return
        if stat.S_ISDIR(status.st_mode):
            self._queue(parts, name)
        elif parts not in self._scan.files:
            self._scan.files[parts] = self._seen(folder, parts, name, status)

    def _queue(self, parts: Parts, name: str) -> None:
        if name not in CROWDED:
            self._folders.append(parts)
        elif self._limits.crowded or parts in self._named:
            self._last.append(parts)

    def _seen(self, folder: int, parts: Parts, name: str, status: os.stat_result) -> Seen:
        seen = Seen((status.st_dev, status.st_ino), status.st_size, status.st_mtime_ns, status.st_ctime_ns)
        known = self._known.get(parts)
        if known is not None and known.moved(seen) and known.ctime_ns == seen.ctime_ns:
            return known
        if known is not None and known.size != seen.size:
            return seen
        return replace(seen, digest=self._digest(folder, name, status))

    def _digest(self, folder: int, name: str, status: os.stat_result) -> bytes:
        # Half of the time is for looking alone: a file that was seen and not read is better than one not seen.
        if status.st_size > self._limits.hashed or self._spent(0.5):
            return b""
        if stat.S_ISLNK(status.st_mode):
            return os.fsencode(os.readlink(name, dir_fd=folder))
        return _digest(folder, name) if stat.S_ISREG(status.st_mode) else b""

    def _spent(self, share: float) -> bool:
        return monotonic() - self._begun > self._limits.seconds * share


def _digest(folder: int, name: str) -> bytes:
    with suppress(OSError):
        descriptor = os.open(name, READ, dir_fd=folder)
        with os.fdopen(descriptor, "rb", buffering=0) as file:
            if stat.S_ISREG(os.fstat(descriptor).st_mode):
                return sha256(file.read(MAX_HASHED_BYTES + 1)).digest()
    return b""


# --- what differs -------------------------------------------------------------------------------------------


def changes(before: Scan, after: Scan, named: Iterable[Parts]) -> tuple[FileEffect, ...]:
    """Sorted by path; the first 200. Where not all was seen before, a new file counts only if it was named."""
    gone = {parts: seen for parts, seen in before.files.items() if parts not in after.files}
    looked_for = frozenset(named)
    effects: list[FileEffect] = []
    for parts, now in sorted(after.files.items()):
        earlier = before.files.get(parts)
        if earlier is None and not before.complete and parts not in looked_for:
            continue
        if earlier is None or now.differs(earlier):
            effects.append(_came(parts, now, earlier, gone))
    effects += [FileEffect("delete", shown_path(parts), source="observed") for parts in sorted(gone)]
    return tuple(sorted(effects, key=lambda it: it.path)[:MAX_EFFECTS])


def _came(parts: Parts, now: Seen, earlier: Seen | None, gone: dict[Parts, Seen]) -> FileEffect:
    """A rename takes its old name out of `gone`."""
    path = shown_path(parts)
    origin = next((old for old, seen in gone.items() if seen.moved(now)), None)
    if origin is None:
        return FileEffect("create" if earlier is None else "modify", path, bytes_after=now.size, source="observed")
    del gone[origin]
    return FileEffect("rename", path, shown_path(origin), now.size, source="observed")
