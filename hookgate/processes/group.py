"""A process that leads a group of its own: how all of it is ended, and how it ended in words. Knows no pipe."""

from __future__ import annotations

import os
import signal
import subprocess
from contextlib import suppress

import trio

CLOSE_WAIT_S = 2.0
TERM_WAIT_S = 1.0


async def stop(process: trio.Process) -> None:
    """Its stdin has been closed: 2 s, SIGTERM to the group, 1 s, SIGKILL to the group; reaped when this returns."""
    await _ends_within(process, CLOSE_WAIT_S)
    await end(process, TERM_WAIT_S)


async def end(process: trio.Process, term_wait_s: float) -> None:
    """SIGTERM to the group where its leader still runs, SIGKILL to what is left; reaped when this returns."""
    if process.returncode is None:
        signal_group(process, signal.SIGTERM)
        await _ends_within(process, term_wait_s)
    # Also after a tidy exit: grandchildren stay in the group, and the group's number is ours until it is empty.
    signal_group(process, signal.SIGKILL)
    await process.wait()


async def _ends_within(process: trio.Process, seconds: float) -> None:
    with trio.move_on_after(seconds):
        await process.wait()


def signal_group(process: trio.Process | subprocess.Popen[bytes], number: signal.Signals) -> None:
    # macOS answers PermissionError where only zombies are left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def exit_text(status: int) -> str:
    """How a process ended, in words: `status` is its return code, negative for a signal."""
    if status >= 0:
        return f"it exited with status {status}"
    try:
        return f"it was killed by {signal.Signals(-status).name}"
    except ValueError:
        return f"it was killed by signal {-status}"
