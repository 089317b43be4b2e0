"""Three gateways on one PostgreSQL keep their promises whatever happens to them, to their ways and to the database.

Some seconds of it; `make cluster` has minutes, with five hundred people.
"""

from __future__ import annotations

import random
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from tests.cluster.namespaces import no_namespaces
from tests.cluster.storm import Storm
from tests.postgres import programs

# Where its server is killed, or its reader goes, the client library lets go of what it has not read to its end.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")

LEASE_S = 4.0


async def unplugged() -> AsyncGenerator[Sequence[str]]:
    yield ("unplugged",)


async def rounds() -> AsyncGenerator[Sequence[str]]:
    yield "killed", "paused"
    yield "cut off silently", "database crashed"
    yield "failed over", "drained"


@pytest.fixture
def database() -> None:
    if programs() is None:
        pytest.skip("this machine has no PostgreSQL server")


@pytest.fixture
def links() -> None:
    if why_not := no_namespaces():
        pytest.skip(f"no namespaces: {why_not}")


@pytest.mark.usefixtures("database")
async def test_gateways_that_are_killed_stopped_and_cut_off_keep_their_promises_together(tmp_path: Path) -> None:
    storm = Storm(tmp_path, random.Random(), 16, LEASE_S, 0.4)
    assert await storm.blow(rounds()) == []
    assert storm.books.said


@pytest.mark.usefixtures("database", "links")
async def test_a_gateway_whose_link_is_down_for_longer_than_its_lease_goes_on_beside_the_others(
    tmp_path: Path,
) -> None:
    storm = Storm(tmp_path, random.Random(), 10, LEASE_S, 0.5, namespaces=True)
    assert await storm.blow(unplugged()) == []
    logs = [(it.folder / "log").read_text() for it in storm.gateways]
    assert "gateway_lost" in "".join(logs)
    # A platform has one address, whoever asks: what it has numbered for one gateway another one goes on with.
    assert all(storm.platform.sections in it.config.read_text() for it in storm.gateways)
