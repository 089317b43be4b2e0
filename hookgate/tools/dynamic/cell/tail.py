"""The last words of a program: a named pipe that takes its stderr, always drained, and little of it kept."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
import trio

KEPT_BYTES = 2 * 1024
LOGGED_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_CHUNKS = 16
"""So many at once: a program that floods the pipe must not hold the event loop."""

_log = structlog.get_logger(__name__)


class Tail:
    """`text()` is what came since `mark()`, its last 2 KiB."""

    def __init__(self, fd: int, name: str) -> None:
        self._fd, self._name = fd, name
        self._kept = b""
        self._unlogged = LOGGED_BYTES

    def mark(self) -> None:
        self._read()
        self._kept = b""

    def text(self) -> str:
        self._read()
        return self._kept.decode("utf-8", "replace").strip()

    async def run(self) -> None:
        while True:
            await trio.lowlevel.wait_readable(self._fd)
            self._read()

    def _read(self) -> None:
        for _ in range(_CHUNKS):
            try:
                data = os.read(self._fd, _CHUNK_BYTES)
            except BlockingIOError:
                return
            self._kept = (self._kept + data)[-KEPT_BYTES:]
            self._note(data[: self._unlogged])

    def _note(self, data: bytes) -> None:
        self._unlogged -= len(data)
        for line in data.decode("utf-8", "replace").splitlines():
            _log.info("tool_stderr", tool=self._name, line=line)


@asynccontextmanager
async def open_tail(path: Path, name: str) -> AsyncGenerator[Tail]:
    """Makes the pipe, for one program of this name, and reads it until left; the file is the caller's to remove."""
    os.mkfifo(path, 0o600)
    # Our own write end keeps the pipe from ending between two writers.
    fd = os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    tail, failed = Tail(fd, name), None
    try:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(tail.run)
            try:
                yield tail
            except Exception as error:
                # Raised again outside, where no nursery makes a group of it.
                failed = error
            nursery.cancel_scope.cancel()
    finally:
        os.close(fd)
    if failed is not None:
        raise failed
