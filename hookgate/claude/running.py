"""One command, run once: JSON on its stdin, what it prints, how it ended. Its whole process group ends with it."""

from __future__ import annotations

import os
import subprocess
from contextlib import suppress
from typing import cast

import trio

from hookgate.processes import group
from hookgate.protocol.dataclasses import dataclass

MAX_BYTES = 1 << 20
"""Of each stream; more is read and dropped."""
DRAIN_S = 1.0
TERM_S = 1.0
END_S = 5.0


_WATCHED = '(read -r end <&{0}; kill -9 0) </dev/null >/dev/null 2>&1 & exec {0}<&-; exec /bin/sh -c "$1"'
"""Beside each command waits a child that ends the group when the lifeline does."""


def open_lifeline() -> int:
    """The reading end of a pipe whose other end this process alone holds: whoever reads it learns that this process
    has ended, however it did. Opened first of all: shells name only descriptors of one digit. Raises OSError."""
    reading, _held = os.pipe()
    if reading > 9:
        raise OSError(0, "too many files are open already", "pipe")
    return reading


@dataclass(frozen=True)
class Ran:
    """`status`: None where its time was up, negative for a signal."""

    status: int | None
    stdout: str
    stderr: str


async def run_shell(command: str, given: bytes, timeout_s: float, lifeline: int) -> Ran:
    """Cancelled, it ends the group, and so does the end of this process. Raises OSError where there is no shell."""
    process = await trio.lowlevel.open_process(
        ["/bin/sh", "-c", _WATCHED.format(lifeline), "sh", command],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        pass_fds=(lifeline,),
    )
    stdin, stdout, stderr = (
        cast("trio.abc.SendStream", process.stdin),
        cast("trio.abc.ReceiveStream", process.stdout),
        cast("trio.abc.ReceiveStream", process.stderr),
    )
    printed, complained = bytearray(), bytearray()
    async with stdin, stdout, stderr, trio.open_nursery() as nursery:
        drained = [trio.Event(), trio.Event()]
        nursery.start_soon(_drain, stdout, printed, drained[0])
        nursery.start_soon(_drain, stderr, complained, drained[1])
        nursery.start_soon(_feed, stdin, given)
        in_time = await _ended(process, timeout_s)
        with trio.move_on_after(DRAIN_S):
            for event in drained:
                await event.wait()
        nursery.cancel_scope.cancel()
    texts = (bytes(it).decode("utf-8", "replace") for it in (printed, complained))
    return Ran(process.returncode if in_time else None, *texts)


async def _ended(process: trio.Process, timeout_s: float) -> bool:
    """False: its time was up. However it is left, the group has ended."""
    try:
        with trio.move_on_after(timeout_s) as scope:
            await process.wait()
        return not scope.cancelled_caught
    finally:
        with trio.move_on_after(END_S, shield=True):
            await group.end(process, TERM_S)


async def _feed(stream: trio.abc.SendStream, given: bytes) -> None:
    # It need not read what it does not want.
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(given)
    await stream.aclose()


async def _drain(stream: trio.abc.ReceiveStream, kept: bytearray, drained: trio.Event) -> None:
    while chunk := await stream.receive_some(65536):
        kept += chunk[: MAX_BYTES - len(kept)]
    drained.set()
