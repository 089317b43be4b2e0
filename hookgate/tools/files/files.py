"""Whole files of the workspace: opened without surprises, replaced in one step. Blocks; knows no tool."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Generator
from contextlib import contextmanager, suppress
from typing import BinaryIO

from hookgate.protocol.dataclasses import dataclass
from hookgate.tools.errors import ToolError
from hookgate.tools.files.workspace import Workspace, WorkspacePath, naming
from hookgate.tools.opening import READ

_CREATE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


@dataclass(frozen=True, slots=True)
class Version:
    """What tells that a file is still the one that was read."""

    inode: int
    size: int
    mtime_ns: int
    mode: int


@contextmanager
def opened(workspace: Workspace, place: WorkspacePath, op: str) -> Generator[BinaryIO]:
    """The regular file at `place`, for reading. Raises ToolError for anything else, OSError naming the path."""
    workspace.refuse_hidden(place, op)
    with workspace.folder(place, op) as folder:
        with naming(place, op):
            descriptor = os.open(place.name, READ, dir_fd=folder)
        with naming(place, op), _file(descriptor, place, op) as file:
            yield file


def version(file: BinaryIO) -> Version:
    return _version(os.fstat(file.fileno()))


def replace(workspace: Workspace, place: WorkspacePath, data: bytes, expected: Version | None = None) -> None:
    """Write beside, then rename: nobody sees half a file. An existing file keeps its mode.

    With `expected`, raises ToolError (stale) where the file is no longer that one. Without it, parents are made.
    """
    op = "edit" if expected else "write"
    workspace.refuse_hidden(place, op)
    workspace.refuse_kept(place, op)
    with workspace.folder(place, op, create=expected is None) as folder, naming(place, op):
        current = _current(folder, place, op)
        if expected is not None and current != expected:
            raise ToolError("stale", op, f"{place.shown} changed since it was read")
        temporary = f".hookgate-{secrets.token_hex(8)}"
        try:
            _write(folder, temporary, data, current)
            os.rename(temporary, place.name, src_dir_fd=folder, dst_dir_fd=folder)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary, dir_fd=folder)
            raise


def _current(folder: int, place: WorkspacePath, op: str) -> Version | None:
    try:
        status = os.stat(place.name, dir_fd=folder, follow_symlinks=False)
    except FileNotFoundError:
        return None
    _refuse_irregular(status, place, op)
    # Renaming over it would need no right to the file itself, only to its folder.
    if not os.access(place.name, os.W_OK, dir_fd=folder):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    return _version(status)


def _write(folder: int, name: str, data: bytes, current: Version | None) -> None:
    with os.fdopen(os.open(name, _CREATE, 0o666, dir_fd=folder), "wb") as file:
        if current is not None:
            os.fchmod(file.fileno(), current.mode)
        file.write(data)
        file.flush()
        # Without it a crash may leave the new name with no content.
        os.fsync(file.fileno())


@contextmanager
def _file(descriptor: int, place: WorkspacePath, op: str) -> Generator[BinaryIO]:
    # closefd: fdopen refuses a folder by raising, and the descriptor must not stay open then.
    try:
        _refuse_irregular(os.fstat(descriptor), place, op)
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            yield file
    finally:
        os.close(descriptor)


def _refuse_irregular(status: os.stat_result, place: WorkspacePath, op: str) -> None:
    if stat.S_ISDIR(status.st_mode):
        raise ToolError("validation", op, f"{place.shown} is a directory")
    if not stat.S_ISREG(status.st_mode):
        raise ToolError("validation", op, f"{place.shown} is not a regular file")


def _version(status: os.stat_result) -> Version:
    return Version(status.st_ino, status.st_size, status.st_mtime_ns, stat.S_IMODE(status.st_mode))
