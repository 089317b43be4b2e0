"""A file written whole or not at all. Knows nothing of what stands in it."""

from __future__ import annotations

import os
from contextlib import suppress
from pathlib import Path
from secrets import token_hex


def write_whole(file: Path, data: bytes, mode: int) -> None:
    """What a reader finds is what was there or all of `data`. Raises OSError, and then nothing has changed."""
    aside = file.with_name(f".{file.name}.{token_hex(6)}")
    try:
        with open(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600), "wb") as opened:
            os.fchmod(opened.fileno(), mode)
            opened.write(data)
            opened.flush()
            os.fsync(opened.fileno())
        aside.replace(file)
    finally:
        with suppress(FileNotFoundError):
            aside.unlink()
