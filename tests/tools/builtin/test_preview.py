"""What a person is shown of `write` and `edit` before they run: the very change, or why it cannot be drawn."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.protocol.values import JsonObject, ToolCall
from hookgate.tools.builtin.preview import MAX_FILE_BYTES, Preview, preview
from hookgate.tools.files.workspace import Workspace


def drawn(folder: Path, tool: str, path: str = "notes.txt", **more: object) -> Preview:
    arguments: JsonObject = {"path": path, **more}  # pyright: ignore[reportAssignmentType]
    return preview(Workspace(folder), ToolCall("1", tool, arguments))


def test_a_change_is_drawn_against_the_file_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("one\ntwo\nthree\n")
    head = "--- a/notes.txt\n+++ b/notes.txt\n"
    edits = [{"oldText": "two", "newText": "2"}]
    assert drawn(tmp_path, "edit", edits=edits).diff == f"{head}@@ -1,3 +1,3 @@\n one\n-two\n+2\n three"
    assert drawn(tmp_path, "write", content="one\n").diff == f"{head}@@ -1,3 +1 @@\n one\n-two\n-three"
    made = drawn(tmp_path, "write", "new/file", content="x")
    assert made.diff == "--- /dev/null\n+++ b/new/file\n@@ -0,0 +1 @@\n+x\n\\ No newline at end of file"
    assert (tmp_path / "notes.txt").read_text() == "one\ntwo\nthree\n"
    assert not (tmp_path / "new").exists()


@pytest.mark.parametrize(
    ("tool", "path", "more", "problem"),
    [
        ("edit", "notes.txt", {"edits": [{"oldText": "4", "newText": "5"}]}, "oldText not found in notes.txt."),
        ("edit", "nothing", {"edits": []}, "The call would fail: No such file or directory."),
        ("write", "../x", {"content": ""}, "The call would fail: ../x is outside the workspace."),
        ("write", "hookgate.toml", {"content": ""}, "belongs to hookgate itself."),
        ("write", ".", {"content": ""}, "is a directory."),
        ("write", "notes.txt", {"content": "one\n"}, "The call would change nothing in it."),
        ("edit", "notes.txt", {"edits": [{"oldText": "one", "newText": "\ud800"}]}, "none that a file can hold."),
        ("write", "binary", {"content": "x"}, "binary: changed, 3 -> 1 bytes"),
        ("write", "huge", {"content": "x"}, f"It is too large for a diff ({MAX_FILE_BYTES + 1:,} bytes)."),
        ("write", "new", {"content": "x" * (MAX_FILE_BYTES + 2)}, f"({MAX_FILE_BYTES + 2:,} bytes)."),
    ],
)
def test_why_nothing_can_be_drawn_is_said(
    tmp_path: Path, tool: str, path: str, more: dict[str, object], problem: str
) -> None:
    (tmp_path / "notes.txt").write_text("one\n")
    (tmp_path / "binary").write_bytes(b"a\0b")
    (tmp_path / "huge").write_bytes(b"x" * (MAX_FILE_BYTES + 1))
    seen = drawn(tmp_path, tool, path, **more)
    assert (seen.path, seen.diff) == (path, "")
    assert seen.problem.endswith(problem)
