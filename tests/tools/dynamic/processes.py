"""Which programs of made tools are running."""

from __future__ import annotations

import os
from pathlib import Path

from tests.processes import below

MARK = "hookgate-tool-"


def running_programs() -> list[bytes]:
    """The command lines of processes, started by this one, that live in a made tool's folder."""
    return [it.line for it in below(os.getpid()) if MARK.encode() in it.line or MARK in _directory(it.pid)]


def _directory(pid: int) -> str:
    try:
        return str(Path(f"/proc/{pid}/cwd").readlink())
    except OSError:
        return ""
