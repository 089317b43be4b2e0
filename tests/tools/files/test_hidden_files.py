"""What hookgate keeps from its own tools is out of reach of those that work with files too, not of commands alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.assembly.keeping.kept import Keeping
from hookgate.protocol import call_context
from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.redaction.redactor import Redactor
from hookgate.store.media.store import FileMedia
from hookgate.tools.builtin import Parts, builtin_tools
from hookgate.tools.dispatch import execute
from hookgate.tools.files.observe_scan import ScanLimits, scan
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.shell.sandbox import Sandbox
from tests.assembly.test_keeping import keeping

STATE = (
    *("state/journal.db", "state/journal.db-wal", "state/journal.db-shm", "state/journal.db-journal"),
    *("state/journal.db.key", "state/journal.db.audit", "state/journal.db.lock", "state/journal.db.new"),
    *("state/journal.media/ab/abcd", "state/journal.media/users/somebody", "state/journal.sessions/web/a.jsonl"),
    *("catalog.db", "catalog.db-wal", "run/control.sock"),
)
CONFIG = """
[store]
journal = "state/journal.db"
path = "{root}/catalog.db"
[control]
path = "{root}/run/control.sock"
"""
Call = Callable[..., Any]


@pytest.fixture
def kept(root: Path, monkeypatch: pytest.MonkeyPatch) -> Keeping:
    monkeypatch.chdir(root)
    for name in (*STATE, "notes.txt", "state/open.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text("needle\n")
    (root / "link").symlink_to("state/journal.db")
    (root / "folder").symlink_to("state/journal.media")
    return keeping(root, CONFIG.format(root=root))


@pytest.fixture
def call(root: Path, tmp_path: Path, kept: Keeping, unconfined: Sandbox) -> Call:
    media = FileMedia(tmp_path / "sent")
    parts = Parts(Workspace(root, kept, kept.hidden), unconfined, {}, media=media, redactor=Redactor(()))
    tools = {tool.spec.name: tool for tool in builtin_tools(parts)}

    async def called(name: str, **arguments: Any) -> ToolResult:
        call_context.work.set(call_context.Work(Chat("test", "1", "ann")))
        with trio.fail_after(30):
            return await execute(tools[name], ToolCall("1", name, arguments))

    return called


@pytest.mark.parametrize(
    ("tool", "more"),
    [
        ("read", {}),
        ("send_file", {}),
        ("write", {"content": "x"}),
        ("edit", {"edits": [{"oldText": "needle", "newText": "x"}]}),
    ],
)
async def test_no_file_tool_opens_what_is_hidden(root: Path, call: Call, tool: str, more: dict[str, Any]) -> None:
    for path in (*STATE, "link", "folder/ab/abcd", str(root / STATE[0]), "state/../state/journal.db.key"):
        result = await call(tool, path=path, **more)
        assert result.error is not None, path
        assert result.error.kind == "permission", path
        assert "belongs to hookgate itself" in result.for_llm
        assert not result.media
        assert "needle" not in result.for_llm
    assert all((root / name).read_text() == "needle\n" for name in STATE)
    assert not (await call(tool, path="state/open.txt", **more)).is_error


async def test_no_new_file_is_put_where_things_are_hidden(root: Path, call: Call) -> None:
    for path in ("state/journal.media/new/file", "state/journal.db.new-wal"):
        assert (await call("write", path=path, content="x")).is_error
        assert not (root / path).parent.joinpath("file").exists()


@pytest.mark.parametrize("tool", ["ls", "grep", "glob"])
async def test_what_is_hidden_is_neither_listed_nor_searched(root: Path, call: Call, tool: str) -> None:
    more = {"grep": {"pattern": "needle"}, "glob": {"pattern": "**"}, "ls": {}}[tool]
    for path in ("state/journal.media", "folder", "state/journal.media/users", "state/journal.sessions"):
        refused = await call(tool, path=path, **more)
        assert refused.error is not None
        assert refused.error.kind == "permission"
    if tool == "grep":
        assert (await call(tool, path="state/journal.db", **more)).is_error
    shown = ""
    for path in (".", "state", "run"):
        shown += (await call(tool, path=path, output="json", **more)).for_llm
    assert "open.txt" in shown
    assert "notes.txt" in shown
    assert not [name for name in STATE if Path(name).name in shown]
    assert "journal.media" not in shown


async def test_ripgrep_tells_nothing_of_it_either(root: Path, call: Call) -> None:
    for number in range(2100):
        (root / f"{number}.txt").write_text("nothing\n")
    assert json.loads((await call("grep", pattern="needle", output="json")).for_llm)["hits"] == 2


def test_what_a_turn_changed_tells_nothing_of_it(root: Path, kept: Keeping) -> None:
    seen = scan(Workspace(root, kept, kept.hidden), [(), ("state", "journal.db")], ScanLimits(seconds=30))
    assert {"/".join(parts) for parts in seen.files} == {"notes.txt", "state/open.txt", "link", "folder"}


def test_a_workspace_within_what_is_hidden_shows_nothing(tmp_path: Path) -> None:
    hidden = tmp_path / "state"
    assert Workspace(hidden / "inner", hide=lambda: (hidden,)).hidden() == {()}
