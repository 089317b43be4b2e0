"""docs/terminal.md keeps its word: its commands print what it shows, its numbers and statuses are the code's."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
import trio

from hookgate.cli.main import hookgate
from hookgate.cli.terminal.keyboard.editor import history
from hookgate.cli.terminal.once import piped
from hookgate.program import endings
from tests.cli.program import DEADLINE_S, environment
from tests.docs.page import codes, read_page
from tests.preloaded import put_hookgate

PAGE = read_page(Path(__file__).parents[2] / "docs" / "terminal.md")
REPEATS = '[agent]\nmodel = "script/any"\n[providers.script]\nkind = "scripted"\nscript = "script.json"\n'


def said() -> list[tuple[str, str]]:
    """Each command with what it prints."""
    pieces = "\n".join(PAGE.one("console").lines).removeprefix("$ ").split("\n$ ")
    return [(command, shown.rstrip()) for command, _, shown in (piece.partition("\n") for piece in pieces)]


@pytest.mark.parametrize(("command", "shown"), said(), ids=lambda it: it[:20])
async def test_a_question_is_asked_as_the_page_shows(command: str, shown: str, tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text(REPEATS)
    (tmp_path / "script.json").write_text('{"steps": []}')
    programs = tmp_path / "bin"
    programs.mkdir()
    put_hookgate(programs)
    variables = environment(tmp_path)
    variables["PATH"] = f"{programs}{os.pathsep}{variables['PATH']}"
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            ["sh", "-c", command],
            stdin=b"",
            cwd=tmp_path,
            env=variables,
            capture_stdout=True,
            stderr=subprocess.STDOUT,
        )
    assert ended.stdout.decode().rstrip() == shown


def test_the_statuses_are_the_codes() -> None:
    written = {int(row[0]) for row in PAGE.one("statuses").rows}
    assert written == {
        0,
        *(value for name, value in vars(endings).items() if name.isupper() and isinstance(value, int)),
    }
    assert next(int(row[0]) for row in PAGE.one("statuses").rows if "--fail-on-denial" in row[1]) == endings.DENIED


def test_the_bounds_are_the_codes() -> None:
    assert f"waited for up to {piped.FIRST_S:g} s" in PAGE.text
    assert f"the last {history.MOST} messages" in PAGE.text
    assert f"{history.LONGEST:,} characters" in PAGE.text
    assert (piped.MAX_BYTES, piped.STDIN) == (1_000_000, "-")


def test_every_flag_exists() -> None:
    options = {name for it in hookgate.commands["chat"].params for name in it.opts}
    assert {code.split()[0] for code in codes(PAGE.text) if code.startswith("--")} <= options
