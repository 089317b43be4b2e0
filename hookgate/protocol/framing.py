"""Newline-delimited frames: chunks of bytes in, whole lines out, with a cap on what one line may hold."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.dataclasses import dataclass

MAX_MESSAGE_BYTES = 16 * 1024 * 1024
SHORT_BYTES = 4096
"""Up to here a copy is cheaper than a view, or than another piece to write."""
QUOTED = 3


@dataclass(frozen=True, slots=True)
class Oversize:
    """A line longer than the cap; its first bytes are kept so that a log can say what it was."""

    size: int
    head: bytes


def quoted(lines: Sequence[str], begun: bytes) -> str:
    """For people: the first of these lines, and how one begins that has not ended. Empty: there is neither."""
    unended = [f"{begun[:80].decode('utf-8', 'replace')!r} without a line end"] if begun else []
    return ", ".join([*map(repr, lines[:QUOTED]), *unended])


class LineSplitter:
    """Splits a byte stream at LF. A line over `max_bytes` is lost and reported when it ends; the next is read."""

    def __init__(self, max_bytes: int = MAX_MESSAGE_BYTES) -> None:
        self._max = max_bytes
        self._chunks: list[bytes] = []
        self._size = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | Oversize]:
        """Lines completed by this chunk, without LF or CR LF. Only the new chunk is searched."""
        lines = data.split(b"\n")
        tail = lines.pop()
        complete: list[bytes | Oversize] = []
        if lines and self._size:
            self._keep(lines.pop(0))
            complete.append(self._take())
        plain = len(data) <= self._max and b"\r" not in data
        complete += lines if plain else map(self._whole, lines)
        if tail:
            self._keep(tail)
        return complete

    @property
    def begun(self) -> bytes:
        """How a line begins that has not ended; empty: there is none."""
        return self._chunks[0] if self._chunks else b""

    def _whole(self, line: bytes) -> bytes | Oversize:
        return line.removesuffix(b"\r") if len(line) <= self._max else Oversize(len(line), line[:4096])

    def _keep(self, chunk: bytes) -> None:
        self._size += len(chunk)
        if self._skipping:
            return
        self._chunks.append(chunk)
        if self._size > self._max:
            self._chunks = [b"".join(self._chunks)[:4096]]
            self._skipping = True

    def _take(self) -> bytes | Oversize:
        line = b"".join(self._chunks)
        size, skipped = self._size, self._skipping
        self._chunks, self._size, self._skipping = [], 0, False
        return Oversize(size, line) if skipped else line.removesuffix(b"\r")
