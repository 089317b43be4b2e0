"""What descends from this process, and its end. Standard library alone: a guardian is there before all else.

All of it is known here only where orphans are kept (`prctl.keep_orphans`).
"""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from time import monotonic, sleep

TERM_WAIT_S = 1.0
KILL_WAIT_S = 5.0
"""After SIGKILL only the kernel is waited for, which may hold a process for ever."""
LOOK_S = 0.01


def children(pid: int) -> list[int]:
    """Those that have ended and were not collected count too."""
    found: list[int] = []
    # It may end meanwhile, and so may a thread of it: that is no reason to leave out all others.
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError):
                found += map(int, Path(f"/proc/{pid}/task/{thread}/children").read_text().split())
    return found


def below(ancestor: int) -> Iterator[int]:
    for pid in children(ancestor):
        yield pid
        yield from below(pid)


def has_ended(pid: int) -> bool:
    """Also where nobody has collected it."""
    try:
        # The name in brackets may hold anything, brackets too.
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return False


def end_descendants(leave_s: float = 0.0) -> None:
    """Within `leave_s` they may leave by themselves, then SIGTERM, 1 s, SIGKILL; collected when this returns.

    Blocks, and collects every child: only for a process that waits for none any more. At most about 6 s longer than
    `leave_s`: another user's process cannot be ended, nor one that the kernel holds.
    """
    if _gone_within(leave_s):
        return
    _signal_all(signal.SIGTERM)
    if _gone_within(TERM_WAIT_S):
        return
    end = monotonic() + KILL_WAIT_S
    # Again and again: one that is being killed may have forked meanwhile.
    while monotonic() < end:
        _signal_all(signal.SIGKILL)
        if _gone_within(LOOK_S):
            return


def _gone_within(seconds: float) -> bool:
    end = monotonic() + seconds
    while not _collected():
        if monotonic() >= end:
            return False
        sleep(LOOK_S)
    return True


def _collected() -> bool:
    """Whether no child is left, after those that have ended were collected."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        return True
    return False


def _signal_all(number: signal.Signals) -> None:
    for pid in list(below(os.getpid())):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)
