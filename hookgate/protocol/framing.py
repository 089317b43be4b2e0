"""Newline-delimited frames: chunks of bytes in, whole lines out, with a cap on what one line may hold."""

from __future__ import annotations

from dataclasses import dataclass

MAX_MESSAGE_BYTES = 16 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Oversize:
    """A line longer than the cap; its first bytes are kept so that a log can say what it was."""

    size: int
    head: bytes


class LineSplitter:
    """Splits a byte stream at LF. A line over `max_bytes` is lost and reported when it ends; the next is read."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max = max_bytes
        self._chunks: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        """Lines completed by this chunk, without LF or CR LF. Only the new chunk is searched."""
        if b"\n" not in data:
            self._keep(data)
            return []
        first, *rest = data.split(b"\n")
        tail = rest.pop()
        self._keep(first)
        lines: list[bytes | Oversize] = [self._take()]
        lines.extend(
            line.removesuffix(b"\r") if len(line) <= self._max else Oversize(len(line), line[:4096]) for line in rest
        )
        self._keep(tail)
        return lines

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._skipping:
            return
        if chunk:
            self._chunks.append(chunk)
        if self._size > self._max:
            self._chunks = [b"".join(self._chunks)[:4096]]
            self._skipping = True

    def _take(self) -> bytes | Oversize:
        line = b"".join(self._chunks)
        size, skipped = self._size, self._skipping
        self._chunks, self._size, self._skipping = [], 0, False
        return Oversize(size, line) if skipped else line.removesuffix(b"\r")
