"""Reads a log file on and on, over its rotation. Does not know who writes it, nor where what it reads goes."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hookgate.extensions.logs import KEEP, older

CHUNK_BYTES = 1 << 16


class Follower:
    """From the beginning of the current file. Owns the file it has open; `close` it.

    Raises OSError where there is no file to begin with; later ones may come and go.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file: BinaryIO = path.open("rb", buffering=0)

    def close(self) -> None:
        self._file.close()

    def news(self) -> Iterator[bytes]:
        """What has been written since the last call, in the order it was written; never waits."""
        yield from self._rest()
        while (newer := self._newer()) is not None:
            # Written between the reading above and the move.
            yield from self._rest()
            self._file.close()
            self._file = newer
            yield from self._rest()

    def _rest(self) -> Iterator[bytes]:
        # Somebody has emptied it in place.
        if os.fstat(self._file.fileno()).st_size < self._file.tell():
            self._file.seek(0)
        while data := self._file.read(CHUNK_BYTES):
            yield data

    def _newer(self) -> BinaryIO | None:
        """The file that came after the one that is open; None: that is the current one, or a move is going on."""
        place = self._place()
        if place == 0:
            return None
        for number in range(KEEP, -1, -1) if place is None else (place - 1,):
            file = _opened(older(self._path, number))
            if file is None:
                continue
            # Files move from the oldest on: where ours has not moved, the next one had not when it was opened.
            if self._place() == place:
                return file
            file.close()
            return None
        return None

    def _place(self) -> int | None:
        """0: it is the current file; 1: the one before; None: it is gone."""
        mine = os.fstat(self._file.fileno())
        for number in range(KEEP + 1):
            try:
                found = older(self._path, number).stat()
            except OSError:
                continue
            if os.path.samestat(found, mine):
                return number
        return None


def _opened(path: Path) -> BinaryIO | None:
    try:
        return path.open("rb", buffering=0)
    except OSError:
        return None
