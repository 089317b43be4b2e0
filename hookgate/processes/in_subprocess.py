"""A function run in a Python process of its own, where one long pass over a text would hold up everybody else."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

from hookgate.processes.command import Command
from hookgate.processes.once import run_once

T = TypeVar("T")

# Appended, so that nothing of ours hides a module of Python's.
_CHILD = (
    "import pickle, sys; sys.path += sys.argv[1:]; "
    "sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)()))"
)
MAX_RESULT_BYTES = 64 << 20
_PACKAGE = Path(__file__).parents[2]


class Unfinished(Exception):
    """The process did not come to an end in time, or ended badly."""


async def run_apart(function: Callable[[], T], timeout_s: float) -> T:
    """What the function returns; it and its arguments must be picklable. Raises Unfinished. A cancelled one ends."""
    # -P: nothing of the working directory, which a model may write to, is ever imported.
    argv = [sys.executable, "-P", "-c", _CHILD, str(_PACKAGE)]
    # Without an environment: other processes of this user could read hookgate's keys there.
    command = Command(argv, Path("/"), {}, timeout_s)
    try:
        printed = await run_once(command, pickle.dumps(function), MAX_RESULT_BYTES)
    except OSError as error:
        raise Unfinished(str(error)) from error
    if printed.status != 0 or printed.overflowed:
        raise Unfinished("its time is up" if printed.status is None else f"status {printed.status}")
    return cast("T", pickle.loads(printed.output))  # noqa: S301 - written by the child just above
