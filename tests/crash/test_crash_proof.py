"""A gateway that is killed under load, and whose power is cut: what was promised holds once it runs again.

Nothing that was acknowledged is lost, nothing that changes the world runs twice, no gate is opened, every question to
a person can still be decided with the buttons that were shown first, and every answer is read. A few deaths here;
`make crash` has a thousand.
"""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from tests.crash.killing import Death, Scene
from tests.store.power import power_shim


async def rested(scene: Scene) -> list[str]:
    """What does not hold once all has come to its end."""
    assert not await scene.life(0, Death())
    return await scene.books.problems(scene.folder / "disk")


async def test_a_gateway_that_is_killed_at_any_moment_keeps_its_promises(tmp_path: Path) -> None:
    scene = Scene(tmp_path, random.Random())
    for _ in range(3):
        await scene.life(5, Death(after_s=scene.chance.random() * 0.3))
    # Right before one of the journal's calls, and right after one.
    assert await scene.life(2, Death(call=scene.chance.randrange(14)))
    assert await scene.life(2, Death(call=scene.chance.randrange(14), after=True))
    assert await rested(scene) == []
    assert len(scene.books.said) == 19


@pytest.fixture
def shim(tmp_path: Path) -> Path:
    library = power_shim(tmp_path)
    if library is None:
        pytest.skip("no C compiler on this machine: what a power cut leaves is not looked at")
    return library


async def test_what_a_power_cut_takes_away_is_nothing_that_was_promised(tmp_path: Path, shim: Path) -> None:
    scene = Scene(tmp_path, random.Random(), shim)
    for _ in range(3):
        await scene.life(5, Death(after_s=scene.chance.random() * 0.3))
    assert await rested(scene) == []
