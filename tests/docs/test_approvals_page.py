"""docs/approvals.md keeps its word: its configuration holds, its commands and grants are all there are."""

from __future__ import annotations

from pathlib import Path

from hookgate.approvals.requests import Approvals, Surroundings
from hookgate.config import parse
from hookgate.loop.commands import approving
from hookgate.protocol.approval import GRANTS
from hookgate.store.memory import MemoryJournal
from tests.docs.page import codes, read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "approvals.md")


def test_its_configuration_holds() -> None:
    config = parse(PAGE.one("config").text, Path("hookgate.toml"))
    assert sorted(config.people) == ["ann", "bob"]
    [rule] = config.approvals
    assert (rule.required, rule.may_self_approve, rule.on_expiry) == (2, False, "stop")


async def test_its_commands_are_all_there_are() -> None:
    approvals = Approvals((), MemoryJournal(), Surroundings(lambda _payload, _step: None))
    written = {code.split()[0] for row in PAGE.one("commands").rows for code in codes(row[0])}
    assert written == {f"/{row.name}" for row in approving.rows(lambda _chat: approvals)}


def test_it_names_every_grant() -> None:
    page = (Path(__file__).parents[2] / "docs" / "approvals.md").read_text()
    assert all(f"| `{grant}` |" in page for grant in GRANTS)
