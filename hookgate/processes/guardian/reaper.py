"""Orphans that this process has taken over, and that leave no zombies."""

from __future__ import annotations

import os
from contextlib import suppress

import trio

from hookgate.processes.guardian.descendants import children, has_ended
from hookgate.processes.guardian.prctl import keeps_orphans

SWEEP_S = 10.0


async def run_reaper(every_s: float = SWEEP_S) -> None:
    """Collect what was taken over and has ended, until cancelled; where orphans are not kept there is nothing to do.

    Whoever starts a process waits for it and collects it at once. So what is still there a sweep later nobody waits
    for; and nothing younger is touched, for its exit status may be somebody's.
    """
    before: frozenset[int] = frozenset()
    while keeps_orphans():
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
    return frozenset(pid for pid in children(os.getpid()) if has_ended(pid))
