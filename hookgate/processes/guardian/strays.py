"""What commands of tools leave behind: known by a mark that none of it can shed, and ended.

The mark is a hard limit of a resource that Linux has not limited since 2.4: it is inherited whatever a process does
to its group, its session, its parents or its environment, and only a privileged one may raise it again.
"""

from __future__ import annotations

import os
import re
import resource
import signal
import threading
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

from hookgate.processes.guardian.descendants import below, has_ended

END_S = 5.0
"""After SIGKILL only the kernel is waited for."""
_LOOK_S = 0.01
_KIB = 1024
_MOST_KIB = 1 << 50
_LIMIT = re.compile(r"^Max resident set +\S+ +(\S+)", re.MULTILINE)


class _Commands:
    """Those that are meant to run, of this whole process: their number, and who may change or rely on it."""

    def __init__(self) -> None:
        self.running = 0
        self.lock = threading.Lock()


_COMMANDS = _Commands()


def marked(line: str) -> Sequence[str]:
    """The program that runs this line in a shell, marked."""
    return ("/bin/sh", "-c", f'ulimit -m {_mark() // _KIB} 2>/dev/null; exec /bin/sh -c "$0"', line)


def command_begins() -> None:
    """`command_ended` must follow. Blocks while strays are being ended."""
    with _COMMANDS.lock:
        _COMMANDS.running += 1


def command_ended() -> bool:
    """Where it was the last one: SIGKILL for all that descends from this process and is marked. Whether none is left
    of them. Blocks.

    Only where orphans are kept (`prctl.keep_orphans`) all of them descend from this process. Another user's process
    cannot be ended, nor one that the kernel holds.
    """
    with _COMMANDS.lock:
        _COMMANDS.running -= 1
        return _COMMANDS.running > 0 or _ended()


def _ended() -> bool:
    end = monotonic() + END_S
    # Again and again: one that is being killed may have forked meanwhile.
    while strays := _strays():
        for pid in strays:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(pid, signal.SIGKILL)
        if monotonic() >= end:
            return False
        sleep(_LOOK_S)
    return True


def _strays() -> list[int]:
    mark = _mark()
    return [pid for pid in below(os.getpid()) if not has_ended(pid) and _limit(pid) <= mark]


def _limit(pid: int) -> float:
    """In bytes."""
    with suppress(OSError):
        found = _LIMIT.search(Path(f"/proc/{pid}/limits").read_text())
        if found and found[1] != "unlimited":
            return int(found[1])
    return float("inf")


def _mark() -> int:
    """In bytes; below the limit of this process, which may descend from a marked one itself."""
    own = resource.getrlimit(resource.RLIMIT_RSS)[1]
    return _MOST_KIB * _KIB if own == resource.RLIM_INFINITY or own < 0 else own // _KIB * _KIB - _KIB
