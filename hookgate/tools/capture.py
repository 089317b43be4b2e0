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


class Capture:
    """`take` chunks as they come, `close` once, then `text()`. Memory stays near the size of what is shown."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._head = bytearray()
        self._lines = 0
        self._size = 0
        self._log: BinaryIO | None = None
        self._path: Path | None = None
        self._disk_failed = False

    async def take(self, chunk: bytes) -> None:
        if not self._overflows:
            self._head += chunk
            self._lines += chunk.count(b"\n")
        self._size += len(chunk)
        if self._overflows and self._size - len(chunk) < MAX_LOG_BYTES:
            await trio.to_thread.run_sync(self._spill, chunk)

    async def close(self) -> None:
        if self._log is not None:
            await trio.to_thread.run_sync(self._log.close)

    def text(self) -> str:
        """The output without its last line breaks, within the limits; where it is cut, a line that says so."""
        shown, note = self._cut()
        text = head(shown) if note else shown.decode("utf-8", "replace")
        if not note:
            return text.rstrip("\n")
        return f"{text.rstrip(chr(10))}\n... [truncated at {note}]{self._where()}"

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

    def _where(self) -> str:
        if self._path is None or self._disk_failed:
            return ""
        if self._size > MAX_LOG_BYTES:
            return f" (the first {MAX_LOG_BYTES // 1024 // 1024} MiB of the output: {self._path})"
        return f" (full output: {self._path})"

    def _spill(self, chunk: bytes) -> None:
        """A full disk costs the log, never the command."""
        if self._disk_failed:
            return
        try:
            if self._log is None:
                self._log, chunk = self._opened(), bytes(self._head)
            self._log.write(chunk)
        except OSError:
            self._disk_failed = True

    def _opened(self) -> BinaryIO:
        _drop_old_logs(self._folder)
        self._path = self._folder / f"output-{secrets.token_hex(8)}.log"
        return os.fdopen(os.open(self._path, _LOG_FLAGS, 0o600), "wb", buffering=0)


def _drop_old_logs(folder: Path) -> None:
    logs = sorted(folder.glob("output-*.log"), key=partial(_age))
    for log in logs[: max(len(logs) - _MAX_LOGS + 1, 0)]:
        with suppress(OSError):
            log.unlink()


def _age(path: Path) -> float:
    try:
        return path.lstat().st_mtime
    except OSError:
        return 0.0
