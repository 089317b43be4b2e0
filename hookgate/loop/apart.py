"""A function run in a Python process of its own, where one long pass over a text would hold up everybody else."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import TypeVar, cast

import trio

T = TypeVar("T")

_CHILD = "import pickle, sys; sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)()))"


class Unfinished(Exception):
    """The process did not come to an end in time, or ended badly."""


async def run_apart(function: Callable[[], T], timeout_s: float) -> T:
    """What the function returns; it and its arguments must be picklable. Raises Unfinished. A cancelled one ends."""
    # -P: nothing of the working directory, which a model may write to, is ever imported.
    command = [sys.executable, "-P", "-c", _CHILD]
    try:
        with trio.fail_after(timeout_s):
            done = await trio.run_process(command, stdin=pickle.dumps(function), capture_stdout=True)
    except (trio.TooSlowError, subprocess.CalledProcessError, OSError) as error:
        raise Unfinished(type(error).__name__) from error
    return cast("T", pickle.loads(done.stdout))  # noqa: S301 - written by the child just above
