"""The files of made tools: one folder each, one program in it. Never leaves half a file."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from functools import partial
from pathlib import Path

import trio

FILE_NAME = "tool.py"
# O_NONBLOCK: opening a named pipe must not wait for a writer.
_READ = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class Shelf:
    def __init__(self, folder: Path) -> None:
        self._folder = folder

    def path(self, name: str) -> Path:
        return self._folder / name / FILE_NAME

    async def text(self, path: Path) -> str | None:
        """None where there is no such file, or nothing that could be a program."""
        return await trio.to_thread.run_sync(partial(read_text, path))

    async def put(self, name: str, text: str | None) -> None:
        """Write it beside, then rename; None takes the file away. Raises OSError and has changed nothing."""
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
        descriptor = os.open(path, _READ)
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
    if text is None:
        path.unlink(missing_ok=True)
        return
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    beside = path.with_name(f".{path.name}.{secrets.token_hex(6)}")
    try:
        with beside.open("xb") as file:
            file.write(text.encode("utf-8"))
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError:
        with suppress(OSError):
            beside.unlink(missing_ok=True)
        raise
