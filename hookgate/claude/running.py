"""One command, run once: JSON on its stdin, what it prints, how it ended. Its whole process group ends with it."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from typing import cast

import trio

from hookgate.processes import group
from hookgate.protocol.dataclasses import dataclass

MAX_BYTES = 1 << 20
"""Of each stream; more is read and dropped."""
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
    """`status`: None where it still ran when its time was up, negative for a signal. `lost`: why what it printed is
    not all here."""

    status: int | None
    stdout: str
    stderr: str
    lost: str = ""


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
        nursery.start_soon(_feed, stdin, given)
        in_time = await _ended(process, timeout_s, {stdout: printed, stderr: complained})
        nursery.cancel_scope.cancel()
    lost = "" if in_time else f"ended, but what it has started held its output open for {timeout_s:g} s"
    if len(printed) > MAX_BYTES:
        lost = f"printed more than {MAX_BYTES} bytes"
    said, complaint = (bytes(it).decode("utf-8", "replace") for it in (printed, complained))
    return Ran(None if in_time is None else process.returncode, said, complaint, lost)


async def _ended(
    process: trio.Process, timeout_s: float, streams: Mapping[trio.abc.ReceiveStream, bytearray]
) -> bool | None:
    """None: its time was up. False: it was up before everything that it has started had closed what it prints to, so
    what it says may be still to come. However it is left, the group has ended."""
    try:
        with trio.move_on_after(timeout_s) as scope:
            async with trio.open_nursery() as nursery:
                for stream, kept in streams.items():
                    nursery.start_soon(_drain, stream, kept)
                await process.wait()
        if scope.cancelled_caught:
            return None if process.returncode is None else False
        return True
    finally:
        with trio.move_on_after(END_S, shield=True):
            await group.end(process, TERM_S)


async def _feed(stream: trio.abc.SendStream, given: bytes) -> None:
    # It need not read what it does not want.
    with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
        await stream.send_all(given)
    await stream.aclose()


async def _drain(stream: trio.abc.ReceiveStream, kept: bytearray) -> None:
    """To its end, of which one byte too many says that it was longer."""
    while chunk := await stream.receive_some(65536):
        kept += chunk[: MAX_BYTES + 1 - len(kept)]
