"""Runs one command to its end, its whole process group included. Knows no sandbox and no tool."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import trio

from hookgate.tools.capture import Capture

TERM_GRACE_S = 3.0
# After SIGKILL only the kernel is waited for, and for output only what already stands in the pipe.
_REAP_DEADLINE_S = 5.0
_DRAIN_DEADLINE_S = 1.0
_CHUNK_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, with which environment (all of it), for how many seconds at most."""

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    timeout_s: float


@dataclass(frozen=True, slots=True)
class Ended:
    """`exit_code` is -1 where a signal ended it."""

    exit_code: int
    timed_out: bool
    seconds: float


async def run_command(command: Command, capture: Capture) -> Ended:
    """Until the command ends or its time is up; then its group is killed and what it printed is read.

    Nothing outlives the call: cancelled, it kills the group, reaps and leaves, within the grace period. A
    process that left the group may go on, but is not waited for. Raises OSError where it cannot be started.
    """
    started = trio.current_time()
    process = await trio.lowlevel.open_process(
        list(command.argv),
        cwd=command.cwd,
        env=dict(command.environment),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe, as asked for just above
    async with process.stdout as output, trio.open_nursery() as nursery:
        drained = trio.Event()
        nursery.start_soon(_drain, output, capture, drained)
        timed_out = await _wait(process, command.timeout_s)
        with trio.move_on_after(_DRAIN_DEADLINE_S):
            await drained.wait()
        nursery.cancel_scope.cancel()
    code = process.returncode
    ended_itself = code is not None and code >= 0 and not timed_out
    return Ended(code if ended_itself and code is not None else -1, timed_out, trio.current_time() - started)


async def _wait(process: trio.Process, timeout_s: float) -> bool:
    """True if the time was up. However it is left, the group has ended."""
    try:
        with trio.move_on_after(timeout_s) as scope:
            await process.wait()
        return scope.cancelled_caught
    finally:
        with trio.CancelScope(shield=True):
            await _end_group(process)


async def _end_group(process: trio.Process) -> None:
    if process.returncode is None:
        _signal_group(process, signal.SIGTERM)
        with trio.move_on_after(TERM_GRACE_S):
            await process.wait()
    _signal_group(process, signal.SIGKILL)
    with trio.move_on_after(_REAP_DEADLINE_S):
        await process.wait()


def _signal_group(process: trio.Process, number: signal.Signals) -> None:
    # macOS answers PermissionError where only zombies are left.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


async def _drain(output: trio.abc.ReceiveStream, capture: Capture, drained: trio.Event) -> None:
    """Reads to the end of the pipe, which is when the last process that holds it is gone."""
    chunk = await output.receive_some(_CHUNK_BYTES)
    while chunk:
        await capture.take(bytes(chunk))
        chunk = await output.receive_some(_CHUNK_BYTES)
    drained.set()
