"""A gateway between which and its platform nothing is certain loses nothing, doubles nothing and runs nothing twice.

A few seconds of it; `make chaos` has five minutes for each platform.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.chaos.__main__ import Storm
from tests.chaos.platforms import PLATFORMS

# Where its server is killed, or its reader goes, the client library lets go of what it has not read to its end.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


@pytest.mark.parametrize("name", PLATFORMS)
async def test_a_storm_is_survived(tmp_path: Path, name: str) -> None:
    chance = random.Random()
    async with PLATFORMS[name](chance) as platform:
        books = await Storm(platform, tmp_path / "scene", chance, patience_s=100).blow(6)
        assert books.problems(tmp_path / "scene" / "disk" / "journal.db", tmp_path / "scene") == []
        assert books.said
