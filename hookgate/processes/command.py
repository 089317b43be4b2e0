"""Runs one command to its end, its whole process group included. Knows no sandbox and no tool."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path
from typing import Protocol

import trio

from hookgate.processes import group
from hookgate.protocol.dataclasses import dataclass

TERM_GRACE_S = 3.0
# After SIGKILL only the kernel is waited for, and for output only what already stands in the pipe.
_REAP_DEADLINE_S = 5.0
_DRAIN_DEADLINE_S = 1.0
_CHUNK_BYTES = 256 * 1024


# Ends the group when the pipe on its stdin does, which only hookgate holds: also when hookgate is killed outright.
# What watches is a child, so that the command keeps its pid and its exit status.
_GUARD = 'exec 3<&0 </dev/null; (read -r end <&3; kill -9 0) >/dev/null 2>&1 & exec 3<&-; exec "$@"'


class Output(Protocol):
    async def take(self, chunk: bytes) -> None: ...


@dataclass(frozen=True, slots=True)
class Command:
    """What to run, where, with which environment (all of it), for how many seconds at most.

    `guarded`: it dies with hookgate, however hookgate ends. That costs a second process, so it is for long ones.
    `given` is its stdin, of one that is not guarded. Without `errors` its stderr goes nowhere, else where its stdout
    goes. `grace_s`: between SIGTERM and SIGKILL, where it is cut short.
    """

    argv: Sequence[str]
    cwd: Path
    environment: Mapping[str, str]
    timeout_s: float
    guarded: bool = False
    given: bytes = b""
    errors: bool = True
    grace_s: float = TERM_GRACE_S


@dataclass(frozen=True, slots=True)
class Ended:
    """`exit_code` is -1 where a signal ended it. `stopped`: somebody asked for its end, before its time was up."""

    exit_code: int
    timed_out: bool
    seconds: float
    pid: int
    stopped: bool = False


class Reins:
    """Of a command that runs: its pid as soon as it has one, and its end on request."""

    def __init__(self) -> None:
        self.pid: int | None = None
        self.begun = trio.Event()
        self.stopped = False
        self.scope = trio.CancelScope()

    def stop(self) -> None:
        self.stopped = True
        self.scope.cancel()


async def run_command(command: Command, capture: Output, reins: Reins | None = None) -> Ended:
    """Until the command ends or its time is up; then its group is killed and what it printed is read.

    Nothing outlives the call: cancelled, it kills the group, reaps and leaves, within the grace period. A
    process that left the group may go on, but is not waited for. Raises OSError where it cannot be started.
    """
    reins = reins or Reins()
    started = trio.current_time()
    process = await _opened(command)
    reins.pid = process.pid
    reins.begun.set()
    reins.scope.deadline = started + command.timeout_s
    assert process.stdout is not None  # noqa: S101 - it is a pipe, as asked for in _opened
    async with process.stdin or nullcontext(), process.stdout as output, trio.open_nursery() as nursery:
        drained = trio.Event()
        nursery.start_soon(_drain, output, capture, drained)
        if command.given and process.stdin is not None:
            nursery.start_soon(_feed, process.stdin, command.given)
        cut_short = await _wait(process, reins.scope, command.grace_s)
        with trio.move_on_after(_DRAIN_DEADLINE_S):
            await drained.wait()
        nursery.cancel_scope.cancel()
    code = process.returncode
    exit_code = code if code is not None and code >= 0 and not cut_short else -1
    stopped = cut_short and reins.stopped
    return Ended(exit_code, cut_short and not stopped, trio.current_time() - started, process.pid, stopped)


async def _opened(command: Command) -> trio.Process:
    guard = ["/bin/sh", "-c", _GUARD, "sh"] if command.guarded else []
    return await trio.lowlevel.open_process(
        [*guard, *command.argv],
        cwd=command.cwd,
        env=dict(command.environment),
        stdin=subprocess.PIPE if command.guarded or command.given else subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT if command.errors else subprocess.DEVNULL,
        start_new_session=True,
    )


async def _feed(stream: trio.abc.SendStream, given: bytes) -> None:
    # It need not read what it does not want.
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(given)
    await stream.aclose()


async def _wait(process: trio.Process, scope: trio.CancelScope, grace_s: float) -> bool:
    """True if the scope cut it short. However it is left, the group has ended."""
    try:
        with scope:
            await process.wait()
        return scope.cancelled_caught
    finally:
        with trio.move_on_after(grace_s + _REAP_DEADLINE_S, shield=True):
            await group.end(process, grace_s)


async def _drain(output: trio.abc.ReceiveStream, capture: Output, drained: trio.Event) -> None:
    """Reads to the end of the pipe, which is when the last process that holds it is gone."""
    chunk = await output.receive_some(_CHUNK_BYTES)
    while chunk:
        await capture.take(bytes(chunk))
        chunk = await output.receive_some(_CHUNK_BYTES)
    drained.set()
