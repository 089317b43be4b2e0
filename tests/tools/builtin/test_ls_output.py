"""The two forms of ls."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from searching import call, fault

from hookgate.tools.builtin.ls import Ls
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.schema.check import problems


@pytest.fixture
def ls(workspace: Workspace) -> Ls:
    return Ls(workspace)


async def test_the_data_tells_kinds_and_sizes(ls: Ls, root: Path) -> None:
    (root / "folder").mkdir()
    (root / "file").write_text("four")
    (root / "link").symlink_to("folder")
    (root / "lost").symlink_to("nowhere")
    os.mkfifo(root / "pipe")
    result = await call(ls)
    assert result.for_llm == "file\nfolder/\nlink/\nlost\npipe"
    assert result.data == {
        "path": ".",
        "count": 5,
        "entries": [
            {"name": "file", "type": "file", "size": 4},
            {"name": "folder", "type": "folder", "size": None},
            {"name": "link", "type": "link", "size": None},
            {"name": "lost", "type": "link", "size": None},
            {"name": "pipe", "type": "other", "size": None},
        ],
        "truncated": False,
    }
    assert ls.spec.output_schema is not None
    assert problems(ls.spec.output_schema, result.data) == ()


async def test_the_form_is_the_callers_then_the_one_it_was_made_with(workspace: Workspace, root: Path) -> None:
    (root / "sub").mkdir()
    asked = await call(Ls(workspace), path="./sub/", output="json")
    assert json.loads(asked.for_llm) == {"path": "sub", "count": 0, "entries": [], "truncated": False}
    made = await call(Ls(workspace, "json"), path="sub")
    assert made.for_llm == asked.for_llm
    assert (await call(Ls(workspace, "json"), path="sub", output="labeled")).for_llm == "(empty)"
    assert (await fault(Ls(workspace), output="xml")).kind == "validation"


async def test_hidden_names_are_in_neither_form_unless_asked_for(ls: Ls, root: Path) -> None:
    (root / ".env").touch()
    hidden = await call(ls, output="json")
    assert json.loads(hidden.for_llm)["count"] == 0
    assert ".env" in (await call(ls, output="json", show_hidden=True)).for_llm


async def test_names_that_are_no_text_are_escaped_and_break_no_line(ls: Ls, root: Path) -> None:
    (root / os.fsdecode(b"caf\xe9")).touch()
    (root / "a\u2028b\x1bc").touch()
    (root / "déjà vu").touch()
    result = await call(ls)
    assert result.for_llm == "a\\u2028b\\x1bc\ncaf\\xe9\ndéjà vu"


async def test_a_link_in_a_loop_is_listed(ls: Ls, root: Path) -> None:
    (root / "a").symlink_to("b")
    (root / "b").symlink_to("a")
    assert (await call(ls)).for_llm == "a\nb"


async def test_a_large_folder_fits_in_both_forms(ls: Ls, root: Path) -> None:
    for number in range(3000):
        (root / f"file-number-{number:05d}").touch()
    data = json.loads((await call(ls, output="json")).for_llm)
    assert (data["count"], data["truncated"]) == (3000, True)
    assert data["entries"][0] == {"name": "file-number-00000", "type": "file", "size": 0}
    assert (await call(ls)).for_llm.count("\n") == 2000
