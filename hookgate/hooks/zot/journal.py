"""An extension's log file: its stderr as it came, and hookgate's own lines, which begin with `[zot] `.

A full file becomes `NAME.1`, so that two of them bound what is kept. Trouble with the file is logged, never raised.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

log = structlog.get_logger("hookgate.hooks")

MAX_FILE_BYTES = 1024 * 1024


class LogFile:
    """Opened for each write, so that it may be moved away at any time. The folder is made when it is missing."""

    def __init__(self, path: Path, max_bytes: int = MAX_FILE_BYTES) -> None:
        self._path = path
        self._max = max_bytes

    def lines(self, lines: Sequence[bytes]) -> None:
        self._append(b"".join(line + b"\n" for line in lines))

    def host(self, text: str) -> None:
        self._append(f"[zot] {' '.join(text.splitlines())}\n".encode("utf-8", "replace"))

    def _append(self, data: bytes) -> None:
        try:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._path.open("ab") as file:
                size = file.tell()
                file.write(data)
        except OSError as error:
            log.warning("extension_log_unwritable", path=str(self._path), reason=str(error))
            return
        if size + len(data) > self._max:
            with suppress(OSError):
                self._path.replace(self._path.with_name(f"{self._path.name}.1"))
