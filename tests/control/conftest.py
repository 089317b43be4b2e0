"""What every control test has: a deadline, and a folder whose path leaves room for a socket's name."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import trio


@pytest.fixture
async def deadline() -> AsyncGenerator[None]:
    with trio.fail_after(30):
        yield


@pytest.fixture
def folder() -> Generator[Path]:
    """Short, because a socket's path may have 107 bytes at most."""
    path = Path(tempfile.mkdtemp(prefix="hg-"))
    yield path
    shutil.rmtree(path)
