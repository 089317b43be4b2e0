"""Three gateways on one PostgreSQL keep their promises whatever happens to them, to their ways and to the database.

Some seconds of it; `make cluster` has minutes, with five hundred people.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from tests.cluster.storm import Storm
from tests.postgres import programs

# Where its server is killed, or its reader goes, the client library lets go of what it has not read to its end.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

LEASE_S = 4.0


async def rounds() -> AsyncGenerator[Sequence[str]]:
    yield "killed", "paused"
    yield "cut off silently", "database crashed"
    yield "failed over", "drained"


@pytest.fixture
def database() -> None:
    if programs() is None:
        pytest.skip("this machine has no PostgreSQL server")


@pytest.mark.usefixtures("database")
async def test_gateways_that_are_killed_stopped_and_cut_off_keep_their_promises_together(tmp_path: Path) -> None:
    storm = Storm(tmp_path, random.Random(), 30, LEASE_S, 0.3)
    assert await storm.blow(rounds()) == []
    assert storm.books.said
