"""`hookgate serve` is killed under load, and its power is cut: what was promised holds once it runs again.

Nothing that was acknowledged is lost, nothing that changes the world runs twice, no gate is opened, every question to
a person is still decided by the buttons that were shown first, and every answer is read, once. A few deaths here;
`make crash` has a thousand.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.crash.killing import Death, Scene
from tests.crash.points import POINTS
from tests.crash.world import answered
from tests.model_server import open_model_server
from tests.store.power import power_shim

# Where its server is killed, or its reader goes, the client library lets go of what it has not read to its end.
pytestmark = pytest.mark.filterwarnings("ignore:Async generator 'http:ResourceWarning")


async def test_a_gateway_that_is_killed_at_any_moment_keeps_its_promises(tmp_path: Path) -> None:
    async with open_model_server(otherwise=answered) as model:
        scene = Scene(tmp_path / "scene", model.base_url, chance := random.Random())
        await scene.life(6, Death("at a moment", chance.random() * 0.4))
        await scene.life(3, Death("at a call", call=chance.choice(POINTS)))
        await scene.life(3, Death("with its guardian", chance.random() * 0.4))
        assert await scene.rest() == []
        assert len(scene.deaths) == 3


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    library = power_shim(tmp_path)
    if library is None:
        pytest.skip("no C compiler on this machine: what a power cut leaves is not looked at")
    return library


async def test_what_a_power_cut_takes_away_is_nothing_that_was_promised(tmp_path: Path, shim: Path) -> None:
    async with open_model_server(otherwise=answered) as model:
        scene = Scene(tmp_path / "scene", model.base_url, chance := random.Random(), shim)
        await scene.life(6, Death("at a moment", chance.random() * 0.4))
        await scene.life(3, Death("at a call", call=chance.choice(POINTS)))
        assert await scene.rest() == []
