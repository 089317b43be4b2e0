"""Where programs of made tools are written: in the folder that was meant, whatever has been put in its place."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.tools.dynamic.shelf import Shelf


async def test_a_program_is_written_replaced_and_taken_away(tmp_path: Path) -> None:
    shelf = Shelf(tmp_path / "made" / "tools")
    await shelf.put("echo", "one")
    await shelf.put("echo", "two")
    assert await shelf.text(shelf.path("echo")) == "two"
    assert [path.name for path in shelf.path("echo").parent.iterdir()] == ["tool.py"]
    await shelf.put("echo", None)
    await shelf.put("echo", None)
    assert await shelf.text(shelf.path("echo")) is None


@pytest.mark.parametrize("replaced", ["tools", "tools/guard"])
async def test_a_link_that_takes_a_folders_place_leads_nowhere(tmp_path: Path, replaced: str) -> None:
    shelf, hooks = Shelf(tmp_path / "tools"), tmp_path / "hooks" / "guard"
    hooks.mkdir(parents=True)
    (hooks / "tool.py").write_text("the guard")
    await shelf.put("other", "made")
    place = tmp_path / replaced
    if place.exists():
        place.rename(tmp_path / "away")
    place.symlink_to(hooks.parent if replaced == "tools" else hooks)
    with pytest.raises(OSError, match=place.name):
        await shelf.put("guard", "mine now")
    with pytest.raises(OSError, match=place.name):
        await shelf.put("guard", None)
    assert (hooks / "tool.py").read_text() == "the guard"


async def test_a_folder_that_is_a_link_from_the_beginning_is_the_one_that_it_leads_to(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "tools").symlink_to(tmp_path / "real")
    shelf = Shelf(tmp_path / "tools")
    await shelf.put("echo", "made")
    assert (tmp_path / "real" / "echo" / "tool.py").read_text() == "made"
