"""Processes whose parents are gone: this process takes them over, and sees to it that they leave no zombies."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import trio

PR_SET_CHILD_SUBREAPER = 36
SWEEP_S = 10.0


def keep_orphans() -> None:
    """From here on a process whose parent ends becomes ours, so that no command can shed its descent."""
    with suppress(OSError, AttributeError):
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


async def run_reaper(every_s: float = SWEEP_S) -> None:
    """Collect what was taken over and has ended, until cancelled.

    Whoever starts a process waits for it and collects it at once. So what is still there a sweep later nobody waits
    for; and nothing younger is touched, for its exit status may be somebody's.
    """
    before: frozenset[int] = frozenset()
    while True:
        await trio.sleep(every_s)
        ended = ended_children()
        for pid in ended & before:
            _collect(pid)
        before = ended - before


def _collect(pid: int) -> None:
    with suppress(ChildProcessError):
        os.waitpid(pid, os.WNOHANG)


def ended_children() -> frozenset[int]:
    """Those that have ended and that nobody has collected."""
    return frozenset(pid for pid in _children() if _has_ended(pid))


def _children() -> Iterator[int]:
    for listed in Path("/proc/self/task").glob("*/children"):
        # A thread may end meanwhile.
        with suppress(OSError):
            yield from map(int, listed.read_text().split())


def _has_ended(pid: int) -> bool:
    try:
        # The name in brackets may hold anything, brackets too.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False
