"""Where a control socket stands in the file system: a private folder, a socket of mode 0600, whose turn it is.

Knows nothing of what is said through the socket.
"""

from __future__ import annotations

import fcntl
import os
import socket
import stat
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from pathlib import Path

from hookgate.protocol.dataclasses import dataclass

FOLDER_MODE = 0o700
SOCKET_UMASK = 0o177
BACKLOG = 64


class ControlUnavailable(Exception):
    """The control socket cannot stand where it should; the text is one line that names the path."""


@dataclass(frozen=True, slots=True)
class Claim:
    """A listening socket (non-blocking) and the file that leads to it. `inode` tells the file from a successor."""

    path: Path
    listener: socket.socket
    inode: int


@contextmanager
def claimed(path: Path) -> Generator[Claim]:
    """Listen at `path`; leaving removes the file and closes the socket. Raises ControlUnavailable.

    The folder is made where it is missing. A socket file that nobody listens at is replaced; one that somebody
    listens at, or a file that is no socket, is left alone.
    """
    claim = _claim(path)
    try:
        yield claim
    finally:
        # Before the close: while it listens, nobody else takes the path.
        _remove(claim)
        claim.listener.close()


@contextmanager
def linked(path: Path, socket: Path) -> Generator[None]:
    """A link at `path` to a socket that stands elsewhere, for whoever looks here; leaving removes it. Raises
    ControlUnavailable."""
    _make_folder(path.parent)
    with _settled(path.parent):
        _clear_away(path.parent)
        try:
            path.symlink_to(socket.absolute())
        except OSError as error:
            raise ControlUnavailable(f"{path}: {error.strerror}") from None
    try:
        yield
    finally:
        with suppress(OSError):
            path.unlink()


def is_live(path: Path) -> bool:
    """Whether somebody listens at the socket. One that cannot be told (no permission, say) counts as live."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(os.fspath(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except OSError:  # a full backlog among others: somebody is there
            return True
        return True


def check_private(folder: Path) -> None:
    """Raises ControlUnavailable unless the folder is this user's and only this user may write to it."""
    try:
        entry, status = folder.lstat(), folder.stat()
    except OSError as error:
        raise ControlUnavailable(f"{folder}: {error.strerror}") from None
    if not stat.S_ISDIR(status.st_mode):
        raise ControlUnavailable(f"{folder}: not a folder")
    # The entry too: another user's symbolic link may lead anywhere.
    if {entry.st_uid, status.st_uid} != {os.geteuid()}:
        raise ControlUnavailable(f"{folder}: belongs to another user")
    if status.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise ControlUnavailable(f"{folder}: other users may write to it (chmod 700 it)")


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise ControlUnavailable(f"{folder}: {error.strerror}") from None


def _claim(path: Path) -> Claim:
    _make_folder(path.parent)
    with _settled(path.parent):
        _make_way(path)
        if path.stem.isdecimal():
            _clear_away(path.parent)
        return _bound(path)


def _settled(folder: Path) -> AbstractContextManager[None]:
    """In a sticky folder (/tmp) nobody can take our file away, but anybody could hold its lock for ever."""
    status = folder.stat()
    if status.st_mode & stat.S_ISVTX and status.st_uid in (0, os.geteuid()):
        return nullcontext()
    check_private(folder)
    return _locked(folder)


@contextmanager
def _locked(folder: Path) -> Generator[None]:
    """One claimant at a time: between bind and listen a new socket looks stale to another hookgate."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _make_way(path: Path) -> None:
    try:
        mode = path.lstat().st_mode
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(mode):
        raise ControlUnavailable(f"{path}: exists and is no socket")
    if is_live(path):
        raise ControlUnavailable(f"{path}: another process listens there")
    path.unlink()


def _clear_away(folder: Path) -> None:
    """What those have left, named by their processes, who were killed."""
    for path in folder.glob("*.sock"):
        with suppress(OSError):
            mode = path.lstat().st_mode
            if path.stem.isdecimal() and (stat.S_ISSOCK(mode) or stat.S_ISLNK(mode)) and not is_live(path):
                path.unlink()


def _bound(path: Path) -> Claim:
    listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    try:
        _bind_private(listener, path)
        listener.listen(BACKLOG)
    except OSError as error:  # "AF_UNIX path too long" has no strerror
        listener.close()
        raise ControlUnavailable(f"{path}: {error.strerror or error}") from None
    listener.setblocking(False)
    return Claim(path, listener, path.lstat().st_ino)


def _bind_private(listener: socket.socket, path: Path) -> None:
    # A chmod after the bind would leave a moment in which others could connect.
    before = os.umask(SOCKET_UMASK)
    try:
        listener.bind(os.fspath(path))
    finally:
        os.umask(before)


def _remove(claim: Claim) -> None:
    try:
        if claim.path.lstat().st_ino == claim.inode:
            claim.path.unlink()
    except FileNotFoundError:
        pass
