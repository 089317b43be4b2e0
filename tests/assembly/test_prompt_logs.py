"""The log of a chat while somebody types, and output that nobody reads."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
import trio

from hookgate.assembly.logs.prompt_logs import PromptLogs
from tests.cli.program import DEADLINE_S, HOOKGATE, configured, environment, open_terminal


async def test_lines_go_above_the_prompt_and_after_that_to_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    logs, shown = PromptLogs(), list[str]()
    logs.write("before\n")
    with logs.above(shown.append):
        logs.write("a li")
        logs.write("ne\nanother\n")
        await trio.to_thread.run_sync(logs.write, "of a thread\n")
        with trio.fail_after(DEADLINE_S):
            while len(shown) < 3:
                await trio.lowlevel.checkpoint()
    logs.write("after\n")
    assert shown == ["a line", "another", "of a thread"]
    assert capsys.readouterr().err == "before\nafter\n"


async def test_what_is_typed_stands_again_below_a_warning(tmp_path: Path) -> None:
    """The server never comes; it is tried again, and what is typed stays whole."""
    started = tmp_path / "go"
    os.mkfifo(started)
    server = f'[mcp.servers.gone]\ncommand = ["sh", "-c", "read it < {started}; exit 3"]\n'
    async with open_terminal(configured(tmp_path, "http://127.0.0.1:9/v1", server), "chat") as screen:
        await screen.sees("> ")
        await screen.type("half a li")
        await screen.sees("half a li")
        with trio.fail_after(DEADLINE_S):
            await trio.to_thread.run_sync(started.write_text, "x\n", abandon_on_cancel=True)
        await screen.sees("mcp_down")
        await screen.sees("> half a li")
        await screen.type("\x15/quit\r")
        assert await screen.ends() == 0


@pytest.mark.parametrize("command", [("tools", "list"), ("chat",)])
async def test_a_reader_that_has_gone_is_no_mistake(tmp_path: Path, command: tuple[str, ...]) -> None:
    read, write = os.pipe()
    os.close(read)
    with trio.fail_after(DEADLINE_S):
        ended = await trio.run_process(
            [*HOOKGATE, *command],
            stdin=b"/tools\n",
            stdout=write,
            capture_stderr=True,
            check=False,
            cwd=configured(tmp_path, "http://127.0.0.1:9/v1"),
            env=environment(tmp_path),
        )
    os.close(write)
    assert (ended.returncode, ended.stderr) == (141, b"")
