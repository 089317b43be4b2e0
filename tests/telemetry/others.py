"""What others read figures and traces with, in a place of its own."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

PYTHON = Path(sys.prefix) / "telemetry" / "bin" / "python"
HERE = Path(__file__).parent


def skip_without_others() -> None:
    if not PYTHON.exists():
        pytest.skip("the readers of others are not installed: make .venv/.telemetry")


async def read_by(script: str, given: bytes, *arguments: str) -> Any:
    """What a script of this folder makes of it."""
    command = [str(PYTHON), str(HERE / script), *arguments]
    ended = await trio.run_process(command, stdin=given, capture_stdout=True)
    return json.loads(ended.stdout)
