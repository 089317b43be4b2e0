"""docs/approvals.md keeps its word: its configuration holds, its commands and grants are all there are."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.approvals.requests import Approvals
from hookgate.approvals.surroundings import Surroundings
from hookgate.channels.approving import Picture, asking
from hookgate.channels.terminal.dialogue import VIEW
from hookgate.config import parse
from hookgate.loop.commands import approving
from hookgate.protocol.approval import GRANTS, ApprovalRequest
from hookgate.protocol.chat import Chat
from hookgate.protocol.values import Json, ToolCall
from hookgate.store.memory import MemoryJournal
from hookgate.tools.builtin.preview import preview
from hookgate.tools.files.workspace import Workspace
from tests.docs.page import codes, read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "approvals.md")


def test_its_configuration_holds() -> None:
    config = parse(PAGE.one("config").text, Path("hookgate.toml"))
    assert sorted(config.people) == ["ann", "bob"]
    [rule] = config.approvals
    assert (rule.required, rule.may_self_approve, rule.on_expiry) == (2, False, "stop")


def test_a_question_looks_as_it_is_shown(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("buy bread\nbuy milk\n")
    edits: list[Json] = [{"oldText": "buy milk", "newText": "buy oat milk"}]
    call = ToolCall("1", "edit", {"path": "notes.txt", "edits": edits})
    seen = preview(Workspace(tmp_path), call)
    request = ApprovalRequest(
        *("5f1d8c3ab0e94726", Chat("cli", "terminal"), call, "rule:files", "Run edit?", "", (), 600.0),
        "18e3ba2d21e6" + 52 * "0",
        place="call 1 of 2",
    )
    dialogue = asking(request, Picture(seen.path, seen.diff, seen.diff))
    assert PAGE.one("asking").lines == (*dialogue.text((64, 40)).splitlines(), dialogue.prompt)


@pytest.mark.parametrize("row", PAGE.one("answers").rows, ids=lambda row: row[0])
def test_what_is_typed_means_what_the_page_says(row: list[str]) -> None:
    call = ToolCall("1", "bash", {"command": "echo\n" * 50})
    place = ("1", Chat("cli", "terminal"), call, "rule:shell", "Run bash?", "", (), 60.0, "d")
    for typed in codes(row[0]) or ["maybe"]:
        revealed = ApprovalRequest(*place, always="all")
        dialogue = asking(ApprovalRequest(*place, always="all", unredacted=revealed))
        dialogue.text((64, 24))
        if typed[0] not in "wv":
            dialogue.hear("w")
            dialogue.text((64, 24))
        assert dialogue.hear(typed) == {
            "y": "once",
            "o": "once",
            "v": VIEW,
            "n": "no",
            "s": "session",
            "a": "always",
        }.get(typed[0])


async def test_its_commands_are_all_there_are() -> None:
    approvals = Approvals((), MemoryJournal(), Surroundings(lambda _payload, _step: None))
    written = {code.split()[0] for row in PAGE.one("commands").rows for code in codes(row[0])}
    assert written == {f"/{row.name}" for row in approving.rows(lambda _chat: approvals)}


def test_it_names_every_grant() -> None:
    page = (Path(__file__).parents[2] / "docs" / "approvals.md").read_text()
    assert all(f"| `{grant}` |" in page for grant in GRANTS)
