"""The place of a store that is not there yet, and a deadline round every test that has one; a PostgreSQL."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Generator
from pathlib import Path

import pytest
import trio

from tests.postgres import Server, postgres, programs


@pytest.fixture
async def file(tmp_path: Path) -> AsyncGenerator[Path]:
    with trio.fail_after(40):
        yield tmp_path / "state" / "hookgate.db"


@pytest.fixture(scope="session")
def server() -> Generator[Server]:
    if programs() is None:
        pytest.skip("this machine has no PostgreSQL server")
    with postgres() as server:
        yield server
