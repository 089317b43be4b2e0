"""The packages of others, asked by tests: one process for all questions of a test."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

PYTHON = Path(sys.prefix) / "webhooks" / "bin" / "python"
PROGRAM = Path(__file__).parent / "others.py"


def needs_others() -> None:
    """For a fixture that is not async."""
    if not PYTHON.exists():
        pytest.skip("the packages of others are not installed: make .venv/.webhooks")


@contextmanager
def others() -> Iterator[Callable[..., Any]]:
    """Asks, and gives the answer; what they refuse is the text that says why."""
    with subprocess.Popen([str(PYTHON), str(PROGRAM)], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        stdin, stdout = process.stdin, process.stdout
        assert stdin is not None
        assert stdout is not None

        def ask(do: str, **asked: object) -> Any:
            stdin.write(json.dumps({"do": do, **asked}).encode() + b"\n")
            stdin.flush()
            said = json.loads(stdout.readline())
            return said["answer"] if "answer" in said else said["refused"]

        yield ask
        stdin.close()
        process.wait(30)
