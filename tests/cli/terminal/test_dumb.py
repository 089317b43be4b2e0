"""A terminal without control sequences, as a person sees it."""

from __future__ import annotations

import os
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

import pytest

from tests.cli.program import HOOKGATE, Screen, configured, open_fifo, open_shell, open_terminal
from tests.model_server import Answer, ModelServer, calls, chunk, events, hang, open_model_server, says

SIZE = (24, 80)
CTRL_C = "\x03"


@asynccontextmanager
async def chat(folder: Path, *answers: Answer) -> AsyncGenerator[tuple[ModelServer, Screen]]:
    async with (
        open_model_server(*answers) as server,
        open_terminal(configured(folder, server.base_url), "chat", size=SIZE, variables={"TERM": "dumb"}) as screen,
    ):
        await screen.stands(SIZE, at_prompt)
        yield server, screen


def at_prompt(rows: list[str]) -> bool:
    return rows[-1:] == [">"]


def since(screen: Screen, row: str) -> list[str]:
    rows = screen.window(*SIZE)
    return rows[rows.index(row) :]


async def test_what_was_typed_before_its_prompt_stands_behind_that_and_above_what_comes_of_it(tmp_path: Path) -> None:
    async with chat(tmp_path, says("One."), says("Two.")) as (_server, screen):
        await screen.type("a\rb\r/help me\r")
        await screen.sees("/help takes nothing behind it.")
        await screen.stands(SIZE, at_prompt)
        assert since(screen, "One.") == ["One.", "> b", "Two.", "> /help me", "· /help takes nothing behind it.", ">"]
        await screen.type("/quit\r")
        assert await screen.ends() == 0


async def test_a_line_that_ends_with_a_backslash_goes_on_in_the_next(tmp_path: Path) -> None:
    async with chat(tmp_path, says("Read.")) as (server, screen):
        await screen.type("one\\\r")
        await screen.sees("\n  ")
        await screen.type("two\r")
        await screen.sees("Read.")
        await screen.stands(SIZE, at_prompt)
        await screen.type("/quit\r")
        assert await screen.ends() == 0
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["one\ntwo"]


# Without bubblewrap a line about that stands among the rows.
@pytest.mark.needs("bwrap")
async def test_nothing_stands_in_one_row_with_the_ctrl_c_before_it(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", '{"command": "echo up > up; sleep 60"}'))
    async with open_fifo(tmp_path / "up") as tool, chat(tmp_path, hang(says("x"), 0), wanted) as (server, screen):
        await screen.type("one\r")
        await server.arrived.wait()
        await screen.type(CTRL_C)
        await screen.stands(SIZE, lambda rows: rows[-4:] == ["> one", "^C", "· Stopped.", ">"])
        await screen.type("two\r")
        await tool.rings()
        await screen.type(CTRL_C)
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["· Stopped.", ">"])
        assert since(screen, "> two")[1] == "^C"
        await screen.type("abc")
        await screen.stands(SIZE, lambda rows: rows[-1] == "> abc")
        await screen.type(CTRL_C)
        await screen.stands(SIZE, at_prompt)
        assert since(screen, "> abc^C")[1:] == ["· Ctrl-C again or Ctrl-D to leave", ">"]
        await screen.type(CTRL_C)
        assert await screen.ends() == 0
    assert screen.shown.endswith("> ^C\n")


async def test_what_is_piped_on_from_a_terminal_has_what_was_typed_behind_each_prompt(tmp_path: Path) -> None:
    async with open_model_server(says("One.")) as server:
        folder = configured(tmp_path, server.base_url)
        line = f"{' '.join(HOOKGATE)} chat | tee shown"
        async with open_terminal(folder, anew=True, program=("/bin/sh", "-c", line)) as screen:
            await screen.line("go")
            await screen.sees("One.")
            await screen.line("/quit")
            assert await screen.ends() == 0
    shown = (folder / "shown").read_text()
    assert "\n> go\n" in shown.partition("One.")[0]
    assert "\nOne.\n> /quit\n" in shown


@pytest.mark.parametrize("to", ["| tee shown", "> shown"])
async def test_where_what_is_written_goes_elsewhere_whoever_types_is_asked_on_the_terminal(
    tmp_path: Path, to: str
) -> None:
    asks = {"index": 0, "id": "1", "type": "function"}
    call = {"tool_calls": [asks | {"function": {"name": "bash", "arguments": '{"command": "touch made"}'}}]}
    wanted = events(chunk({"content": "Let me see."}), chunk(call), chunk({}, "tool_calls"))
    rule = '[[approvals]]\ntools = ["bash"]\n'
    async with open_model_server(wanted, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url, rule)
        line = f"{' '.join(HOOKGATE)} chat {to}"
        async with open_terminal(folder, anew=True, program=("/bin/sh", "-c", line), size=SIZE) as screen:
            await screen.type("go\r")
            await screen.sees("? Run bash?")
            await screen.sees("[n]o: ")
            if "tee" in to:
                assert "Let me see." in screen.shown.partition("? Run bash?")[0]
            await screen.type("perhaps\r")
            await screen.sees('"perhaps" is none of the answers')
            await screen.sees("[n]o: ")
            await screen.type("y\r")
            await screen.type("/quit\r")
            assert await screen.ends() == 0
    kept = (folder / "shown").read_text()
    assert (folder / "made").exists()
    assert ("allow?" in kept, "ok, asked" in kept, "Done.\n" in kept) == (False, True, True)


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
async def test_after_fg_the_prompt_stands_there_again(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_shell(tmp_path, SIZE) as screen:
        await screen.stands(SIZE, lambda rows: rows[-1:] == ["$"])
        await screen.type("TERM=dumb hookgate chat\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == ">")
        # All that is told at the start is there once something is answered.
        await screen.type("/pending\r")
        await screen.sees("Nothing waits for your word.")
        await screen.stands(SIZE, lambda rows: rows[-1] == ">")
        await screen.type("\x1a")
        await screen.stands(SIZE, lambda rows: rows[-1] == "$")
        await screen.type("fg\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == ">")
        await screen.type("/quit\r")
        await screen.stands(SIZE, lambda rows: rows[-1] == "$")
        await screen.type("exit\r")
        await screen.ends()


async def test_a_prompt_that_stands_there_when_it_is_known_that_the_chat_goes_on_is_not_written_behind_itself(
    tmp_path: Path,
) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=SIZE, anew=True, variables={"TERM": "dumb"}) as screen:
        await screen.stands(SIZE, at_prompt)
        # All that is told at the start is there once something is answered.
        await screen.type("/pending\r")
        await screen.sees("Nothing waits for your word.")
        await screen.stands(SIZE, at_prompt)
        prompts = screen.raw.count("> ")
        os.killpg(screen.process.pid, signal.SIGCONT)
        await screen.stands(SIZE, lambda rows: screen.raw.count("> ") > prompts and at_prompt(rows))
        await screen.type("/quit\r")
        assert await screen.ends() == 0


async def test_help_says_that_commands_act_between_turns_and_what_ctrl_c_drops(tmp_path: Path) -> None:
    async with chat(tmp_path) as (_server, screen):
        await screen.type("/help\r")
        await screen.sees("read once that has ended")
        await screen.stands(SIZE, at_prompt)
        await screen.type("/quit\r")
        assert await screen.ends() == 0
    said = " ".join(screen.shown.split())
    assert ("Ctrl-C, which ends the turn, drops it." in said, "act at once" in said) == (True, False)
