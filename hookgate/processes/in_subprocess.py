"""A function run in a Python process of its own, where one long pass over a text would hold up everybody else."""

from __future__ import annotations

import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar, cast

import trio

T = TypeVar("T")

# Appended, so that nothing of ours hides a module of Python's.
_CHILD = (
    "import pickle, sys; sys.path += sys.argv[1:]; "
    "sys.stdout.buffer.write(pickle.dumps(pickle.load(sys.stdin.buffer)()))"
)
_PACKAGE = Path(__file__).parents[2]


class Unfinished(Exception):
    """The process did not come to an end in time, or ended badly."""


async def run_apart(function: Callable[[], T], timeout_s: float) -> T:
    """What the function returns; it and its arguments must be picklable. Raises Unfinished. A cancelled one ends."""
    # -P: nothing of the working directory, which a model may write to, is ever imported.
    command = [sys.executable, "-P", "-c", _CHILD, str(_PACKAGE)]
    try:
        with trio.fail_after(timeout_s):
            # Without an environment: other processes of this user could read hookgate's keys there.
            done = await trio.run_process(command, stdin=pickle.dumps(function), capture_stdout=True, env={})
    except (trio.TooSlowError, subprocess.CalledProcessError, OSError) as error:
        raise Unfinished(type(error).__name__) from error
    return cast("T", pickle.loads(done.stdout))  # noqa: S301 - written by the child just above
