"""The files of made tools: one folder each, one program in it. Never leaves half a file."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

from hookgate.tools.opening import READ

FILE_NAME = "tool.py"
_WRITE = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class Shelf:
    """`folder` is where it really lies from here on: a link that takes its place later is refused, not followed."""

    def __init__(self, folder: Path) -> None:
        self._folder = Path(os.path.realpath(folder))

    def path(self, name: str) -> Path:
        return self._folder / name / FILE_NAME

    async def text(self, path: Path) -> str | None:
        """None where there is no such file, or nothing that could be a program."""
        return await trio.to_thread.run_sync(partial(read_text, path))

    async def put(self, name: str, text: str | None) -> None:
        """Write it beside, then rename; None takes the file away. Raises OSError, also where a link has taken a
        folder's place, and has changed nothing."""
        await trio.to_thread.run_sync(_put, self.path(name), text)


def read_text(path: Path) -> str | None:
    # As bytes: the digest is over what stands there, line ends included.
    data = read_program(path)
    try:
        return None if data is None else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def read_program(path: Path) -> bytes | None:
    """The bytes of a regular file that is no link; None where there is none to be read."""
    try:
        descriptor = os.open(path, READ)
    except OSError:
        return None
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            return None
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    except OSError:
        return None
    finally:
        os.close(descriptor)


def _put(path: Path, text: str | None) -> None:
    folder = _opened(path.parent)
    try:
        if text is None:
            with suppress(FileNotFoundError):
                os.unlink(path.name, dir_fd=folder)
            return
        beside = f".{path.name}.{secrets.token_hex(6)}"
        try:
            with os.fdopen(os.open(beside, _WRITE, 0o600, dir_fd=folder), "wb") as file:
                file.write(text.encode("utf-8"))
                file.flush()
                os.fsync(file.fileno())
            os.replace(beside, path.name, src_dir_fd=folder, dst_dir_fd=folder)
        except OSError:
            with suppress(OSError):
                os.unlink(beside, dir_fd=folder)
            raise
    finally:
        os.close(folder)


def _opened(folder: Path) -> int:
    """A descriptor of the folder, which is made where it is missing. Raises OSError where a link stands on the way: a
    command that may write there must not have hookgate write elsewhere."""
    descriptor = os.open("/", _FOLDER)
    for part in folder.parts[1:]:
        above = descriptor
        try:
            descriptor = _entered(part, above)
        finally:
            os.close(above)
    return descriptor


def _entered(name: str, above: int) -> int:
    try:
        return os.open(name, _FOLDER, dir_fd=above)
    except FileNotFoundError:
        os.mkdir(name, 0o700, dir_fd=above)
        return os.open(name, _FOLDER, dir_fd=above)
