"""The place of a store that is not there yet, and a deadline round every test that has one."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
import trio


@pytest.fixture
async def file(tmp_path: Path) -> AsyncGenerator[Path]:
    with trio.fail_after(40):
        yield tmp_path / "state" / "hookgate.db"
