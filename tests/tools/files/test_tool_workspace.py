"""No path leads out of the workspace."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened, replace
from hookgate.tools.files.workspace import Workspace, WorkspacePath
from hookgate.tools.kept import Kept


@pytest.fixture
def outside(tmp_path: Path) -> Path:
    folder = tmp_path / "outside"
    folder.mkdir()
    (folder / "secret").write_text("secret")
    return folder


def content(workspace: Workspace, path: str) -> bytes:
    with opened(workspace, workspace.place(path, "read"), "read") as file:
        return file.read()


@pytest.mark.parametrize(
    "path", ["a.txt", "./a.txt", "deep/../a.txt", "deep//../a.txt", "{root}/a.txt", "inner", "up/a.txt"]
)
def test_paths_inside_are_found_also_by_links_that_stay_inside(workspace: Workspace, root: Path, path: str) -> None:
    (root / "deep").mkdir()
    (root / "a.txt").write_text("hello")
    (root / "inner").symlink_to(root / "a.txt")
    (root / "up").symlink_to("deep/..")
    assert content(workspace, path.format(root=root)) == b"hello"


@pytest.mark.parametrize(
    "path",
    [
        "../outside/secret",
        "deep/../../outside/secret",
        "/etc/passwd",
        "{outside}/secret",
        "link",
        "folder/secret",
        "chain",
        "dangling",
        "folder/new",
        "folder/../outside/secret",
        "{root}evil",
        "/proc/self/root/etc/passwd",
    ],
)
def test_paths_that_lead_out_are_refused_for_reading_and_for_writing(
    workspace: Workspace, root: Path, outside: Path, path: str
) -> None:
    (root / "deep").mkdir()
    (root / "link").symlink_to(outside / "secret")
    (root / "folder").symlink_to(outside)
    (root / "chain").symlink_to("link")
    (root / "dangling").symlink_to(outside / "not-there")
    path = path.format(root=root, outside=outside)
    with pytest.raises(ToolError) as caught:
        replace(workspace, workspace.place(path, "write"), b"owned")
    assert (caught.value.kind, caught.value.denied_by) == ("permission", "rule:workspace")
    assert path in caught.value.reason
    with pytest.raises(ToolError):
        content(workspace, path)
    assert sorted(it.name for it in outside.iterdir()) == ["secret"]
    assert (outside / "secret").read_text() == "secret"


def test_a_link_put_in_place_after_the_check_is_refused_not_followed(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    (root / "deep").mkdir()
    (root / "deep" / "secret").write_text("mine")
    folder, file = workspace.place("deep/secret", "read"), WorkspacePath("late", ("late",))
    (root / "deep" / "secret").unlink()
    (root / "deep").rmdir()
    (root / "deep").symlink_to(outside)
    (root / "late").symlink_to(outside / "secret")
    for place in (folder, file):
        with pytest.raises(ToolError), opened(workspace, place, "read"):
            pass
    with pytest.raises(ToolError):
        replace(workspace, folder, b"owned")
    assert (outside / "secret").read_text() == "secret"


def test_writing_over_a_link_put_in_place_late_replaces_the_link(
    workspace: Workspace, root: Path, outside: Path
) -> None:
    place = workspace.place("late", "write")
    (root / "late").symlink_to(outside / "secret")
    with pytest.raises(ToolError, match="not a regular file"):
        replace(workspace, place, b"owned")
    assert (outside / "secret").read_text() == "secret"


@pytest.mark.parametrize(
    ("path", "kind"),
    [("a\0b", "validation"), ("loop", "permission"), ("file/below", "validation"), ("x" * 300, "validation")],
)
def test_what_is_no_usable_path_is_refused_with_words(workspace: Workspace, root: Path, path: str, kind: str) -> None:
    (root / "loop").symlink_to("loop")
    (root / "file").write_text("")
    with pytest.raises(ToolError) as caught:
        content(workspace, path)
    assert caught.value.kind == kind


def test_a_missing_file_is_named_as_the_model_wrote_it(workspace: Workspace) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        content(workspace, "no/such/file")
    assert caught.value.filename == "no/such/file"


def test_a_workspace_reached_by_a_link_accepts_both_its_names(tmp_path: Path, root: Path) -> None:
    (root / "a").write_text("x")
    alias = tmp_path / "alias"
    alias.symlink_to(root)
    workspace = Workspace(alias)
    assert content(workspace, f"{alias}/a") == content(workspace, f"{root}/a") == b"x"


def test_no_descriptor_is_left_open(workspace: Workspace, root: Path) -> None:
    (root / "d").mkdir()
    (root / "d" / "f").write_text("x")
    before = len(os.listdir("/proc/self/fd"))
    for path in ("d/f", "d", "missing", "d/f/g"):
        with (
            pytest.raises((ToolError, OSError))
            if path != "d/f"
            else opened(workspace, workspace.place(path, "read"), "read")
        ):
            content(workspace, path)
    assert len(os.listdir("/proc/self/fd")) == before


async def test_what_guards_the_model_is_not_for_its_tools_to_write(tmp_path: Path) -> None:
    """The configuration and the hooks may lie in the workspace; a link to them is no way round."""
    (tmp_path / "hooks").mkdir()
    (tmp_path / "hooks" / "guard.py").write_text("print('no')")
    (tmp_path / "link").symlink_to("hooks")
    kept = Kept((tmp_path / "hooks",), told=(tmp_path / "AGENTS.md",))
    workspace = Workspace(tmp_path, lambda: kept)
    for path in ("hooks/guard.py", "link/guard.py", "hooks/new.py", "./hooks/../hooks/guard.py", "AGENTS.md"):
        with pytest.raises(ToolError) as refused:
            workspace.refuse_kept(workspace.place(path, "write"), "write")
        assert refused.value.kind == "permission"
    workspace.refuse_kept(workspace.place("hooks.txt", "write"), "write")
