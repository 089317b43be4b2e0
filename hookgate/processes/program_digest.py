"""What a program is that is about to be started, as a digest: its command line, and the files that this names."""

from __future__ import annotations

import os
import stat
from collections.abc import Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import file_digest, sha256

from hookgate.protocol.codec import canonical


def program_digest(command: Sequence[str], directory: str) -> str:
    """SHA-256, in hex. What a word names only by way of PATH, or an import, is no part of it. Blocks."""
    return sha256(canonical([[word, _content(os.path.join(directory, word))] for word in command])).hexdigest()


def _content(path: str) -> str:
    """Empty: no file that can be read."""
    with suppress(OSError, ValueError):
        status = os.stat(path)
        if stat.S_ISREG(status.st_mode):
            return _read(path, (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns))
    return ""


@lru_cache(maxsize=64)
def _read(path: str, _stamp: tuple[int, ...]) -> str:
    """One interpreter starts many hooks."""
    with open(path, "rb") as file:
        return file_digest(file, "sha256").hexdigest()
