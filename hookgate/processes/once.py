"""Runs one program once: bytes in, what it prints out, capped; its whole group is gone then. Knows no tool."""

from __future__ import annotations

import signal
import subprocess
from contextlib import suppress
from dataclasses import dataclass

import trio

from hookgate.processes.command import Command
from hookgate.processes.group import signal_group

MAX_OUTPUT_BYTES = 1 << 20
_CHUNK_BYTES = 64 * 1024
_DRAIN_DEADLINE_S = 1.0


@dataclass(frozen=True, slots=True)
class Printed:
    """`status` is the exit status, negative for a signal, None where its time was up; `overflowed`: there was more
    than it may print, which is dropped."""

    status: int | None
    output: bytes
    overflowed: bool


async def run_once(command: Command, given: bytes = b"", max_bytes: int = MAX_OUTPUT_BYTES) -> Printed:
    """Give it `given` on stdin and read its stdout; its stderr goes nowhere.

    Raises OSError where it cannot be started. Cancelled, it kills the group and reaps.
    """
    process = await trio.lowlevel.open_process(
        list(command.argv),
        cwd=command.cwd,
        env=dict(command.environment),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdin is not None  # noqa: S101 - both are pipes, as asked for just above
    assert process.stdout is not None  # noqa: S101
    output = _Output(max_bytes)
    async with process.stdin, process.stdout, trio.open_nursery() as nursery:
        nursery.start_soon(_feed, process.stdin, given)
        nursery.start_soon(output.drain, process.stdout)
        timed_out = await _ended(process, command.timeout_s)
        # A process that left the group may hold the pipe for as long as it likes.
        with trio.move_on_after(_DRAIN_DEADLINE_S):
            await output.drained.wait()
        nursery.cancel_scope.cancel()
    return Printed(None if timed_out else process.returncode, bytes(output.kept), output.overflowed)


class _Output:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.kept = bytearray()
        self.overflowed = False
        self.drained = trio.Event()

    async def drain(self, stream: trio.abc.ReceiveStream) -> None:
        """To the end, whatever there is: a child that cannot write would wait for ever."""
        while chunk := await stream.receive_some(_CHUNK_BYTES):
            self.overflowed = self.overflowed or len(self.kept) + len(chunk) > self._max_bytes
            self.kept += bytes(chunk)[: self._max_bytes - len(self.kept)]
        self.drained.set()


async def _feed(stream: trio.abc.SendStream, given: bytes) -> None:
    # It need not read what it does not want.
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(given)
    await stream.aclose()


async def _ended(process: trio.Process, timeout_s: float) -> bool:
    """True if the time was up. However it is left, the group is dead and its leader reaped."""
    try:
        with trio.move_on_after(timeout_s) as scope:
            await process.wait()
        return scope.cancelled_caught
    finally:
        signal_group(process, signal.SIGKILL)
        with trio.CancelScope(shield=True):
            await process.wait()
