"""The log file of an extension: its stderr as it came and hookgate's own lines, in files of bounded size.

Knows nothing of who writes to it or reads it. Trouble with the file is logged, never raised.
"""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import structlog

log = structlog.get_logger("hookgate.extensions")

MAX_FILE_BYTES = 1024 * 1024
KEEP = 3
HOST = b"[zot] "


def log_file(home: Path, name: str) -> Path:
    """Where the extension of this manifest name writes; `home` is zot's."""
    return home / "logs" / f"ext-{name}.log"


def older(path: Path, number: int) -> Path:
    """The file that was full `number` files ago; 0 is the current one."""
    return path.with_name(f"{path.name}.{number}") if number else path


class ExtensionLog:
    """Appends whole lines. A file that would grow over `max_bytes` becomes PATH.1, that one PATH.2, up to `keep`.

    Opened for each write, so that it may be moved away at any time; several processes may write to one. The file
    is for this user alone, and so is its folder where that is missing.
    """

    def __init__(self, path: Path, max_bytes: int = MAX_FILE_BYTES, keep: int = KEEP) -> None:
        self.path = path
        self._max = max_bytes
        self._keep = keep
        self._failing = False

    def lines(self, lines: Sequence[bytes]) -> None:
        """What the extension said, without line ends."""
        if lines:
            self._write(b"".join(line + b"\n" for line in lines))

    def host(self, text: str) -> None:
        """What hookgate has to say of it, as one line."""
        line = " ".join(text.splitlines()).encode("utf-8", "replace")
        self._write(HOST + line + b"\n")

    def _write(self, data: bytes) -> None:
        try:
            self._append(data)
        except OSError as error:
            # Once, not for every line of an extension that talks to a full disk.
            if not self._failing:
                log.warning("extension_log_unwritable", path=str(self.path), reason=error.strerror or str(error))
            self._failing = True
        else:
            self._failing = False

    def _append(self, data: bytes) -> None:
        descriptor = self._with_room(len(data))
        try:
            while data:
                data = data[os.write(descriptor, data) :]
        finally:
            os.close(descriptor)

    def _with_room(self, more: int) -> int:
        descriptor = self._open()
        size = os.fstat(descriptor).st_size
        if size == 0 or size + more <= self._max:
            return descriptor
        try:
            self._rotate(descriptor)
        finally:
            os.close(descriptor)
        return self._open()

    def _open(self) -> int:
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        try:
            return os.open(self.path, flags, 0o600)
        except FileNotFoundError:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            return os.open(self.path, flags, 0o600)

    def _rotate(self, descriptor: int) -> None:
        """Of several processes that find it full, one moves it. Where it cannot be moved, it grows."""
        with suppress(OSError):
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            if not os.path.samestat(os.fstat(descriptor), self.path.stat()):
                return
            for number in range(self._keep - 1, -1, -1):
                with suppress(FileNotFoundError):
                    older(self.path, number).replace(older(self.path, number + 1))
            if not self._keep:
                self.path.unlink()
