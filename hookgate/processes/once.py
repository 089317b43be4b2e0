"""Runs one program once: bytes in, what it prints out, capped; its whole group is gone then. Knows no tool."""

from __future__ import annotations

from hookgate.processes.command import Command, run_command
from hookgate.protocol.dataclasses import dataclass, replace

MAX_OUTPUT_BYTES = 1 << 20


@dataclass(frozen=True, slots=True)
class Printed:
    """`status` is the exit status, -1 where a signal ended it, None where its time was up; `overflowed`: there was
    more than it may print, which is dropped."""

    status: int | None
    output: bytes
    overflowed: bool


class _Output:
    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self.kept = bytearray()
        self.overflowed = False

    async def take(self, chunk: bytes) -> None:
        """Whatever there is: a child that cannot write would wait for ever."""
        self.overflowed = self.overflowed or len(self.kept) + len(chunk) > self._max_bytes
        self.kept += chunk[: self._max_bytes - len(self.kept)]


async def run_once(
    command: Command, given: bytes = b"", max_bytes: int = MAX_OUTPUT_BYTES, *, errors: bool = False
) -> Printed:
    """Give it `given` on stdin and read its stdout; its stderr goes nowhere, or with `errors` the same way.

    Raises OSError where it cannot be started. Cancelled, it kills the group and reaps.
    """
    output = _Output(max_bytes)
    ended = await run_command(replace(command, given=given, errors=errors, grace_s=0.0), output)
    return Printed(None if ended.timed_out else ended.exit_code, bytes(output.kept), output.overflowed)
