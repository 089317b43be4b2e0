"""What a person has typed in all their chats, in a file of their own. Knows no terminal."""

from __future__ import annotations

import fcntl
import json
import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from time import sleep
from typing import IO

MOST = 1000
"""Messages that are kept; the file is cut to that when a chat begins that finds twice as many."""
LONGEST = 10_000
"""Characters of one; what is longer was pasted, and is in no history."""
WAIT_S, TRIES = 0.01, 30
"""For another chat that has the file in hand, which takes no longer than a write. Nobody's typing waits for it."""


class History:
    """`tell` hears, once, why nothing is kept."""

    def __init__(self, path: Path, tell: Callable[[str], None]) -> None:
        self._path, self._tell = path, tell
        self._lost = False

    def read(self) -> list[str]:
        """What was kept, the oldest first, and once what was sent several times running; a line that nobody can read
        is passed over, which is said."""
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            with _opened(self._path) as file:
                lines = file.read().splitlines()
                if len(lines) > 2 * MOST:
                    _cut(self._path, lines[-MOST:])
        except OSError as error:
            self._lose(error)
            return []
        messages = [_message(line) for line in lines[-MOST:]]
        if broken := messages.count(None):
            self._tell(f"! {broken} lines of the history ({self._path}) are none, and are passed over")
        return [it for it, _ in groupby(messages) if it is not None]

    def add(self, message: str) -> None:
        if len(message) > LONGEST or self._lost:
            return
        try:
            with _opened(self._path) as file:
                file.write(json.dumps(message).encode() + b"\n")
        except OSError as error:
            self._lose(error)

    def _lose(self, error: OSError) -> None:
        self._lost = True
        self._tell(f"! the history is not kept: {self._path}: {error.strerror}")


@contextmanager
def _opened(path: Path) -> Generator[IO[bytes]]:
    """For reading from its beginning and for appending, by one chat at a time. Raises OSError."""
    flags = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NONBLOCK | os.O_CLOEXEC
    for _ in range(TRIES):
        with open(os.open(path, flags, 0o600), "r+b", buffering=0, closefd=True) as file:
            if _locked(file) and os.path.samestat(os.fstat(file.fileno()), path.stat()):
                os.fchmod(file.fileno(), 0o600)
                yield file
                return
        sleep(WAIT_S)
    raise BlockingIOError(0, "another program has it in hand")


def _locked(file: IO[bytes]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _cut(path: Path, lines: list[bytes]) -> None:
    """Another file in its place: whoever waits for the old one opens this one then."""
    real = path.resolve()
    new = real.with_name(f"{real.name}.{os.getpid()}")
    new.touch(0o600)
    new.write_bytes(b"".join(line + b"\n" for line in lines))
    new.replace(real)


def _message(line: bytes) -> str | None:
    try:
        message = json.loads(line)
    except ValueError:
        return None
    return message if isinstance(message, str) else None
