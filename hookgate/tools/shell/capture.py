"""What a command prints: the head in memory, everything in a file, both capped. Knows no process."""

from __future__ import annotations

import os
import secrets
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import BinaryIO

import trio

from hookgate.tools.text import MAX_BYTES, MAX_LINES, head

MAX_LOG_BYTES = 64 * 1024 * 1024
_MAX_LOGS = 16
_LOG_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC


class Log:
    """A file of everything that is written to it, up to a limit. A full disk costs the log, never the command."""

    def __init__(self, folder: Path, prefix: str) -> None:
        self._folder, self._prefix = folder, prefix
        self._file: BinaryIO | None = None
        self._path: Path | None = None
        self._size = 0
        self._failed = False

    @property
    def where(self) -> str:
        """` (full output: FILE)`, or as much of it as there is; empty without a file."""
        if self._path is None or self._failed:
            return ""
        if self._size > MAX_LOG_BYTES:
            return f" (the first {MAX_LOG_BYTES // 1024 // 1024} MiB of the output: {self._path})"
        return f" (full output: {self._path})"

    async def write(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._size - len(chunk) < MAX_LOG_BYTES and not self._failed:
            await trio.to_thread.run_sync(self._write, chunk)

    async def close(self) -> None:
        if self._file is not None:
            await trio.to_thread.run_sync(self._file.close)

    def remove(self) -> None:
        """The file goes; blocks for as long as that takes."""
        if self._path is not None:
            with suppress(OSError):
                self._path.unlink()

    def _write(self, chunk: bytes) -> None:
        try:
            if self._file is None:
                self._file = self._opened()
            self._file.write(chunk)
        except OSError:
            self._failed = True

    def _opened(self) -> BinaryIO:
        _drop_old_logs(self._folder)
        self._path = self._folder / f"{self._prefix}-{secrets.token_hex(8)}.log"
        return os.fdopen(os.open(self._path, _LOG_FLAGS, 0o600), "wb", buffering=0)


class Capture:
    """`take` chunks as they come, `close` once, then `text()`. Memory stays near the size of what is shown."""

    def __init__(self, folder: Path) -> None:
        self._head = bytearray()
        self._lines = 0
        self._size = 0
        self._spilled = False
        self._log = Log(folder, "output")

    async def take(self, chunk: bytes) -> None:
        if not self._overflows:
            self._head += chunk
            self._lines += chunk.count(b"\n")
        self._size += len(chunk)
        if self._overflows:
            # The head has the first chunks; the one that overflows it is in there already.
            chunk, self._spilled = (chunk if self._spilled else bytes(self._head)), True
            await self._log.write(chunk)

    async def close(self) -> None:
        await self._log.close()

    @property
    def truncated(self) -> bool:
        return bool(self._cut()[1])

    def text(self) -> str:
        """The output without its last line breaks, within the limits; where it is cut, a line that says so."""
        note = self._cut()[1]
        return f"{self.shown()}\n... [truncated at {note}]{self._log.where}" if note else self.shown()

    def shown(self) -> str:
        """The same without the line about the cut."""
        shown, note = self._cut()
        return (head(shown) if note else shown.decode("utf-8", "replace")).rstrip("\n")

    @property
    def _overflows(self) -> bool:
        return self._size > MAX_BYTES or self._lines >= MAX_LINES

    def _cut(self) -> tuple[bytes, str]:
        position = -1
        for _ in range(MAX_LINES):
            position = self._head.find(b"\n", position + 1)
            if position < 0 or position >= MAX_BYTES:
                break
        else:
            if self._size > position + 1:
                return bytes(self._head[:position]), f"{MAX_LINES} lines"
        return bytes(self._head[:MAX_BYTES]), f"{MAX_BYTES} bytes" if self._size > MAX_BYTES else ""


def _drop_old_logs(folder: Path) -> None:
    """Of commands that have ended; those of processes in the background go with their process."""
    logs = sorted(folder.glob("output-*.log"), key=partial(_age))
    for log in logs[: max(len(logs) - _MAX_LOGS + 1, 0)]:
        with suppress(OSError):
            log.unlink()


def _age(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
