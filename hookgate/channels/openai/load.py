"""What each key has open here at once: its requests, and bytes of their bodies while these are read. Reads none."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator
from contextlib import contextmanager

from hookgate.channels.openai.errors import busy
from hookgate.protocol.journal.keys import Key

AT_ONCE = 512
"""Requests of one key."""
BYTES_AT_ONCE = 48_000_000
"""Of bodies of one key that are being read; what has come of them is many times as large once it is understood."""


class Load:
    def __init__(self) -> None:
        self._requests, self._bytes = Counter[Key](), Counter[Key]()

    @contextmanager
    def request(self, key: Key) -> Generator[None]:
        """Raises ApiError."""
        with _counted(self._requests, key, 1, AT_ONCE, "requests"):
            yield

    @contextmanager
    def body(self, key: Key, size: int) -> Generator[None]:
        """`size`: what it may come to, in bytes. Raises ApiError."""
        with _counted(self._bytes, key, size, BYTES_AT_ONCE, "bytes of requests"):
            yield


@contextmanager
def _counted(counter: Counter[Key], key: Key, size: int, most: int, what: str) -> Generator[None]:
    if counter[key] + size > most:
        raise busy(f"more than {most} {what} of one key at once")
    counter[key] += size
    try:
        yield
    finally:
        counter[key] -= size
        if not counter[key]:
            del counter[key]
