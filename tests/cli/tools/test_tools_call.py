"""`hookgate tools call`: through every hook and approval, stdout for the result alone, 0 or 1."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.program import hook, none_left, open_terminal
from tests.cli.tools.tools_program import set_up, tools

ASK = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
ECHO = '{"command": "touch said"}'


async def test_stdout_is_what_the_model_would_be_told(tmp_path: Path) -> None:
    (set_up(tmp_path) / "note").write_text("a line\n")
    ended = await tools(tmp_path, "call", "read", '{"path": "note"}')
    assert (ended.returncode, ended.stderr) == (0, "")
    assert "a line" in ended.stdout


async def test_a_failure_is_what_the_model_would_be_told_and_status_1(tmp_path: Path) -> None:
    for arguments, said in (
        (("read", '{"path": "no"}'), "ERROR (not_found)"),
        (("read", "{"), "ERROR (validation)"),
        (("read", "[1]"), "ERROR (validation)"),
        (("raed", "{}"), "Close: read"),
        (("write", '{"path": "x", "content": "cut'), "were cut off"),
    ):
        ended = await tools(set_up(tmp_path), "call", *arguments)
        assert ended.returncode == 1
        assert said in ended.stdout
    assert not (tmp_path / "x").exists()


async def test_every_hook_is_asked_and_the_trace_says_so(tmp_path: Path) -> None:
    sections = hook(tmp_path, "guard", 'intercept = ["before_tool"]') + hook(
        tmp_path, "redact", 'intercept = ["after_tool"]'
    )
    set_up(tmp_path, sections + hook(tmp_path, "approve", 'intercept = ["approve_tool"]'))
    ended = await tools(tmp_path, "call", "bash", '{"command": "echo hi"}', "--trace")
    assert (ended.returncode, "hi" in ended.stdout) == (0, True)
    words = [line.split() for line in ended.stderr.splitlines()]
    decided = [(line[1], line[2], line[4]) for line in words if line[3:4] == ["[bash]"]]
    assert decided == [
        ("before_tool", "guard", "continue"),
        ("approve_tool", "approve", "approve"),
        ("after_tool", "redact", "continue"),
    ]
    await none_left(tmp_path)


async def test_a_denied_call_never_runs(tmp_path: Path) -> None:
    set_up(tmp_path, hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
    (tmp_path / "kept").mkdir()
    ended = await tools(tmp_path, "call", "bash", '{"command": "rm -rf kept"}', "--yes")
    assert (ended.returncode, (tmp_path / "kept").exists()) == (1, True)
    assert ended.stdout.startswith("Tool execution denied by hook: 'rm -rf kept' is not allowed here")


async def test_hooks_see_the_chat_that_was_named(tmp_path: Path) -> None:
    match = 'match = { channels = ["telegram"], chats = ["42"], senders = ["ann"] }'
    set_up(tmp_path, hook(tmp_path, "guard", f'intercept = ["before_tool"]\n{match}'))
    where = ("--channel", "telegram", "--chat", "42", "--sender", "ann")
    command = ("call", "bash", '{"command": "rm -rf kept"}')
    assert (await tools(tmp_path, *command)).returncode == 0
    assert (await tools(tmp_path, *command, *where)).returncode == 1


async def test_the_tools_of_hooks_can_be_called_however_they_came(tmp_path: Path) -> None:
    owned = hook(tmp_path, "weather_owned", 'intercept = ["before_tool"]')
    added = hook(tmp_path, "weather", 'intercept = ["before_llm", "before_tool"]')
    for section in (owned, added):
        set_up(tmp_path, section)
        ended = await tools(tmp_path, "call", "weather", '{"city": "Rome"}')
        assert (ended.returncode, ended.stdout[:6], ended.stderr) == (0, "Rome: ", "")


ABORTS = """
import json, sys
for line in sys.stdin:
    call = json.loads(line)
    answer = {"action": "abort_turn", "reason": "enough"} if call["method"] == "hook.before_tool" else {}
    if "id" in call:
        print(json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": answer}), flush=True)
"""


async def test_a_hook_that_aborts_is_one_line_on_stderr(tmp_path: Path) -> None:
    (tmp_path / "aborts.py").write_text(ABORTS)
    section = '[hooks.processes.stop]\ncommand = ["python3", "aborts.py"]\nintercept = ["before_tool"]\n'
    ended = await tools(set_up(tmp_path, section), "call", "ls")
    assert (ended.returncode, ended.stdout) == (1, "")
    assert ended.stderr == "hook stop aborted the turn at before_tool: enough\n"


# --- approvals ----------------------------------------------------------------------------------------------


async def test_without_a_terminal_a_call_that_needs_a_person_is_refused(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path, ASK), "call", "bash", ECHO, stdin=b"y\n")
    assert (ended.returncode, (tmp_path / "said").exists()) == (1, False)
    assert "nobody can be asked here: this is no terminal (--yes approves)" in ended.stdout


async def test_why_a_call_was_refused_is_said_once(tmp_path: Path) -> None:
    told = f"{ASK}[agent]\nshow_denials = true\n"
    ended = await tools(set_up(tmp_path, told), "call", "bash", ECHO)
    assert (ended.stdout.count("nobody can be asked here"), ended.stderr) == (1, "")


async def test_yes_approves_it(tmp_path: Path) -> None:
    ended = await tools(set_up(tmp_path, ASK), "call", "bash", ECHO, "--yes", "--trace")
    assert (ended.returncode, (tmp_path / "said").exists()) == (0, True)
    assert "given by --yes" in ended.stderr


@pytest.mark.parametrize(("typed", "status"), [("y\n", 0), ("n\n", 1)])
async def test_a_person_at_the_terminal_is_asked(tmp_path: Path, typed: str, status: int) -> None:
    set_up(tmp_path, ASK)
    async with open_terminal(tmp_path, "tools", "call", "bash", ECHO) as screen:
        await screen.sees("  command:\n| touch said\n")
        await screen.sees("allow?")
        await screen.type(typed)
        assert await screen.ends() == status
    assert (tmp_path / "said").exists() == (status == 0)
