"""The pager that `v` opens at a question, and Ctrl-Z: what comes after them is the question."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

import pytest

from hookgate.channels.terminal.dialogue import UNREAD
from tests.cli.program import Screen, configured, open_shell, open_terminal
from tests.model_server import calls, open_model_server, says

SIZE = (24, 80)
RULE = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
SHORT = calls(("1", "bash", '{"command": "touch made"}'))
LONG = calls(("1", "bash", json.dumps({"command": "\n".join([*(f"echo {it}" for it in range(30)), "touch made"])})))
READ_ALL, ASKED = "read all: [v]iew, [w]hole, [n]o:", "[s]ession, [n]o:"
PAGER = (
    "cat > seen; trap 'echo caught' INT; echo reading; read -r line < /dev/tty || read -r line < /dev/tty; echo read"
)
ENTER, CTRL_C, CTRL_Z = "\r", "\x03", "\x1a"


@asynccontextmanager
async def asked(folder: Path, variables: dict[str, str]) -> AsyncGenerator[Screen]:
    """At a question that is longer than the screen; allowed and left in the end."""
    async with (
        open_model_server(LONG, says("Done.")) as server,
        open_terminal(configured(folder, server.base_url, RULE), "chat", size=SIZE, variables=variables) as screen,
    ):
        await screen.line("go")
        await screen.sees(READ_ALL)
        await screen.stands(SIZE, lambda rows: bool(rows) and rows[-1].endswith("[n]o:"))
        yield screen
        await screen.sees(ASKED)
        await screen.type(f"y{ENTER}")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert (folder / "made").exists()


async def test_ctrl_c_in_the_pager_is_the_pagers_and_ends_no_turn(tmp_path: Path) -> None:
    (tmp_path / "pager").write_text(f"#!/bin/sh\n{PAGER}\n")
    (tmp_path / "pager").chmod(0o755)
    async with asked(tmp_path, {"PAGER": str(tmp_path / "pager")}) as screen:
        await screen.type(f"v{ENTER}")
        await screen.sees("reading")
        assert not screen.marks_pastes
        await screen.type(CTRL_C)
        await screen.sees("caught")
        await screen.type(ENTER)
        await screen.sees("read")


@pytest.mark.skipif(which("bash") is None or which("less") is None, reason="no bash or no less on PATH")
async def test_ctrl_z_in_the_pager_does_not_leave_it_reading_beside_the_shell(tmp_path: Path) -> None:
    async with open_model_server(LONG, says("Done.")) as server:
        configured(tmp_path, server.base_url, RULE)
        async with open_shell(tmp_path, SIZE) as screen:
            await screen.stands(SIZE, lambda rows: rows[-1:] == ["$"])
            await screen.type(f"hookgate chat{ENTER}")
            await screen.line("go")
            await screen.sees(READ_ALL)
            await screen.stands(SIZE, lambda rows: rows[-1].endswith("[n]o:"))
            await screen.type(f"v{ENTER}")
            await screen.stands(SIZE, lambda rows: rows[-1] == ":")
            await screen.type(f"{CTRL_Z}Gq")
            await screen.sees(ASKED)
            assert "Stopped" not in screen.shown
            await screen.type(f"y{ENTER}")
            await screen.sees("Done.")
            await screen.line("/quit")
            await screen.stands(SIZE, lambda rows: rows[-1] == "$")
            await screen.type(f"exit{ENTER}")
            await screen.ends()
    assert (tmp_path / "made").exists()


@pytest.mark.skipif(which("less") is None, reason="no less on PATH")
async def test_a_pager_left_on_its_first_page_has_not_shown_all_of_it(tmp_path: Path) -> None:
    async with asked(tmp_path, {"PAGER": "less"}) as screen:
        await screen.type(f"v{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-1] == ":")
        await screen.type("q")
        await screen.sees(UNREAD)
        await screen.stands(SIZE, lambda rows: rows[-1].endswith(READ_ALL))
        assert ASKED not in screen.shown
        await screen.type(f"v{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-1] == ":")
        await screen.type("Gq")


async def test_a_terminal_that_cannot_do_what_a_pager_needs_gets_the_text_itself(tmp_path: Path) -> None:
    async with asked(tmp_path, {"PAGER": "", "TERM": "dumb"}) as screen:
        await screen.type(f"v{ENTER}")
        await screen.sees("| echo 15")


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
async def test_after_fg_the_whole_question_stands_there_again_with_what_was_typed(tmp_path: Path) -> None:
    async with open_model_server(SHORT, says("Done.")) as server:
        configured(tmp_path, server.base_url, RULE)
        async with open_shell(tmp_path, SIZE) as screen:
            await screen.stands(SIZE, lambda rows: rows[-1:] == ["$"])
            await screen.type("hookgate chat\r")
            await screen.line("go")
            await screen.sees(ASKED)
            await screen.type("n because half")
            await screen.stands(SIZE, lambda rows: rows[-1].endswith("because half"))
            await screen.type(CTRL_Z)
            await screen.stands(SIZE, lambda rows: rows[-1] == "$")
            await screen.type("fg\r")
            await screen.sees("fg")
            await screen.sees("| touch made")
            await screen.stands(SIZE, lambda rows: rows[-1].endswith(f"{ASKED} n because half"))
            await screen.type(" of it\r")
            await screen.sees("denied by approval: the user said no: half of it")
            await screen.sees("Done.")
            await screen.line("/quit")
            await screen.stands(SIZE, lambda rows: rows[-1] == "$")
            await screen.type("exit\r")
            await screen.ends()
    assert not (tmp_path / "made").exists()
