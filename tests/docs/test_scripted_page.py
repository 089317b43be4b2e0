"""docs/scripted.md keeps its word: its commands print what it shows, and its tables name every member."""

from __future__ import annotations

import json
import shlex
import sys
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import Any, get_args

import pytest
import structlog
import trio

from hookgate.cli.terminal.chat import run_chat
from hookgate.cli.terminal.flags import Flags, settled
from hookgate.protocol.errors import PASSING, ProviderFault
from hookgate.providers import scripted
from tests.cli.program import DEADLINE_S, environment
from tests.docs.page import codes, read_page

PAGE = read_page(Path(__file__).parents[2] / "docs" / "scripted.md")
TABLES = ("Script", "ScriptStep", "ScriptedCall", "ScriptedFailure")


def test_every_block_says_what_it_is() -> None:
    known = {"file", "console", "file-more", "console-more", *TABLES}
    assert {part.kind for part in PAGE.parts} == known


@pytest.mark.parametrize("walk", ["", "-more"])
async def test_the_commands_print_what_the_page_shows(
    walk: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    home, here = tmp_path / "home", tmp_path / "here"
    for folder in (home, here):
        folder.mkdir(mode=0o700)
    for part in [*PAGE.marked("file"), *PAGE.marked(f"file{walk}")]:
        (here / part.mark.split()[1]).write_text(part.text.replace("python3", sys.executable))
    monkeypatch.chdir(here)
    for name, value in environment(home).items():
        monkeypatch.setenv(name, value)
    (console,) = PAGE.marked(f"console{walk}")
    for command, shown in console.said:
        program, chat, once, question = shlex.split(command)
        assert (program, chat, once) == ("hookgate", "chat", "--once")
        with trio.fail_after(DEADLINE_S):
            # Here and not in a process of its own, which takes a second each time.
            await run_chat(settled(None), Flags(once=question))
        assert "".join(capsys.readouterr()).rstrip() == shown, command
    structlog.reset_defaults()


@pytest.mark.parametrize("name", TABLES)
def test_the_tables_name_every_member_with_its_usual_value(name: str) -> None:
    shown = {codes(row[0])[0]: row[2] for row in PAGE.one(name).rows}
    assert shown == {it.name: usual(it) for it in fields(getattr(scripted, name))}


def usual(member: Field[Any]) -> str:
    if member.default is MISSING:
        return ""
    return f"`{json.dumps(member.default)}`"


def test_the_kinds_of_failures_are_all_named() -> None:
    kinds, _reason, again = PAGE.one("ScriptedFailure").rows
    assert tuple(codes(kinds[1])) == get_args(ProviderFault)
    assert set(codes(again[1])) - {"agent.retries"} == PASSING
