"""docs/journal.md keeps its word: commands print what it shows, lines are said, kinds are all there are."""

from __future__ import annotations

import json
import os
import re
import subprocess
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.docs.page import codes, read_page
from tests.preloaded import put_hookgate
from tests.store.journals import fill

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "journal.md")
DEADLINE_S = 60.0
PIPES: dict[str, Any] = {"check": False, "capture_stdout": True, "stderr": subprocess.STDOUT}


@pytest.fixture
async def home(tmp_path: Path) -> Path:
    """Ann's: with `hookgate` in its `bin`, and the journal that the page is about."""
    (tmp_path / "bin").mkdir()
    put_hookgate(tmp_path / "bin")
    (tmp_path / "hookgate.toml").write_text('[store]\njournal = "journal.db"\n')
    await fill(tmp_path / "journal.db", "main")
    return tmp_path


async def output(home: Path, command: str) -> str:
    env = {"PATH": f"{home / 'bin'}:{os.environ['PATH']}", "HOME": str(home), "XDG_RUNTIME_DIR": str(home)}
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(["sh", "-c", command], cwd=home, env=env, **PIPES)
    return ended.stdout.decode()


async def test_the_commands_print_what_the_page_shows(home: Path) -> None:
    for part in PAGE.marked("run"):
        for block in re.split(r"^\$ ", part.text, flags=re.MULTILINE)[1:]:
            command, _, shown = block.partition("\n")
            printed = (await output(home, command)).replace(str(home), "/home/ann")
            # How much room the same rows take is a matter of the library's version.
            assert re.sub(r"0\.\d MB", "0.1 MB", printed) == shown, command


async def test_the_kinds_of_an_export_are_those_of_the_table(home: Path) -> None:
    assert await output(home, "hookgate keys add eve --channel rpc")
    exported = [json.loads(line) for line in (await output(home, "hookgate store export")).splitlines()]
    assert {line["kind"] for line in exported} == {codes(row[0])[0] for row in PAGE.one("kinds").rows}


def test_the_lines_of_the_table_are_said_by_the_code() -> None:
    files = (ROOT / "hookgate" / "store").rglob("*.py")
    code = "".join(file.read_text() for file in files)
    assert [line for row in PAGE.one("refused").rows for line in codes(row[0]) if line not in code] == []


def test_its_configuration_is_taken(tmp_path: Path) -> None:
    from hookgate.config import parse

    text = next(part.text for part in PAGE.parts if part.language == "toml")
    assert parse(text, tmp_path / "hookgate.toml").store.journal == ""
