"""`hookgate chat --once` and whoever is there: read along, asked, answered for by `--yes`, cut off, or counted."""

from __future__ import annotations

import json
import re
from pathlib import Path
from shutil import which

import pytest

from tests.cli.program import (
    HOOKGATE,
    configured,
    hook,
    none_left,
    open_fifo,
    open_pipes,
    open_shell,
    open_terminal,
    run,
)
from tests.model_server import calls, chunk, cut, events, fails, hang, open_model_server, says

RULE = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
ANN = '[people.ann]\nids = ["telegram:7"]\n[[approvals]]\ntools = ["bash"]\napprovers = ["ann"]\n'
TOUCH = calls(("1", "bash", '{"command": "touch made"}'))


async def test_a_terminal_reads_along_and_is_asked(tmp_path: Path) -> None:
    async with open_model_server(TOUCH, hang(says("It is ", "made ", "now."), 3)) as server:
        folder = configured(tmp_path, server.base_url, RULE)
        async with open_terminal(folder, "chat", "--once", "go") as screen:
            await screen.sees("? Run bash?  (rule:shell asks)\n  command:\n| touch made\n")
            await screen.sees("[n]o: ")
            await screen.type("y\n")
            # The answer is not whole, and never will be.
            await screen.sees("It is ")
            assert (tmp_path / "made").exists()
            await screen.type("\x03")
            assert await screen.ends() == 130
            await screen.sees("hookgate: it was interrupted before the end of the answer\n")
    assert screen.shown.count("It is") == 1
    await none_left(tmp_path)


async def test_why_there_is_no_answer_goes_on_with_a_word_where_the_terminal_ends(tmp_path: Path) -> None:
    async with open_model_server(fails(401, "this key is not known here, and neither is any other")) as server:
        folder = configured(tmp_path, server.base_url)
        async with open_terminal(folder, "chat", "--once", "go", size=(24, 40)) as screen:
            await screen.sees("The model call failed (auth):")
            assert await screen.ends() == 1
    assert [row for row in screen.shown.splitlines() if len(row) > 40] == []
    assert "this key is not known here" in " ".join(screen.shown.split())


async def test_a_terminal_has_a_sign_of_life_that_is_gone_with_the_answer(tmp_path: Path) -> None:
    size = (24, 60)
    wanted = calls(("1", "bash", '{"command": "echo up > up; read line < on"}'))
    slow = fails(429, "slow down", ("Retry-After", "2"))
    async with (
        open_fifo(tmp_path / "up") as tool,
        open_fifo(tmp_path / "on"),
        open_model_server(slow, wanted, says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--once", "go", size=size) as screen,
    ):
        rows = await screen.stands(size, lambda it: it[:1] != [] and "retry 1 of 2 in" in it[0])
        assert len(rows) == 1
        assert re.fullmatch(r"· asking p/m: retry 1 of 2 in [12] s \(p: 127\.0\.0\.1:\d+ answe?…", rows[0])
        await tool.rings()
        await screen.stands(
            size, lambda it: len(it) == 1 and it[0].startswith("· bash: echo up > up; read line < on … ")
        )
        (tmp_path / "on").write_text("\n")
        assert await screen.ends() == 0
        await screen.stands(size, lambda it: it == ["Done."])


@pytest.mark.parametrize("above", [0, 2, 3])
async def test_a_retry_within_a_line_has_its_sign_of_life_below_that_line(tmp_path: Path, above: int) -> None:
    """Also where the line is the terminal's last one."""
    size = (4, 40)
    began = "".join(f"{number}\n" for number in range(above)) + "The quick "
    broken, busy = cut(says(began, "brown "), 3), fails(503, "busy", ("Retry-After", "1"))
    async with (
        open_model_server(broken, busy, says(began, "brown ", "fox.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--once", "go", size=size) as screen,
    ):
        rows = await screen.stands(size, lambda it: it[-1:] != [] and "retry 2 of 2 in" in it[-1])
        assert rows[-2].rstrip() == "The quick brown"
        assert await screen.ends() == 0
        whole = f"{began}brown fox.".splitlines()
        await screen.stands(size, lambda it: it == whole[-3:] or it == whole)


async def test_who_sits_there_is_asked_on_the_terminal_when_stdin_and_stdout_are_pipes(tmp_path: Path) -> None:
    async with open_model_server(TOUCH, says("I may not.")) as server:
        folder = configured(tmp_path, server.base_url, RULE)
        line = f"echo a note | {' '.join(HOOKGATE)} chat --once go | tee answer"
        async with open_terminal(folder, anew=True, program=("/bin/sh", "-c", line)) as screen:
            await screen.sees("| touch made\n")
            await screen.sees("[n]o: ")
            await screen.type("n because it is Friday\n")
            assert await screen.ends() == 0
            await screen.sees("I may not.\n")
    assert (tmp_path / "answer").read_text() == "I may not.\n"
    assert not (tmp_path / "made").exists()
    told = server.requests[1].body["messages"][-1]["content"]
    assert told == "Tool execution denied by approval: the user said no: it is Friday"
    assert "a note" in server.requests[0].body["messages"][-1]["content"]


async def test_ctrl_d_at_the_question_is_a_no(tmp_path: Path) -> None:
    async with (
        open_model_server(TOUCH, says("I may not.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", "--once", "go") as screen,
    ):
        await screen.sees("[n]o: ")
        await screen.type("\x04")
        await screen.sees("no\n")
        await screen.sees("denied by approval: the user said no")
        await screen.sees("I may not.")
        assert await screen.ends() == 0
    assert not (tmp_path / "made").exists()


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
async def test_after_fg_the_question_stands_there_again(tmp_path: Path) -> None:
    size, asked = (24, 80), "  allow? [y]es once, [s]ession, [n]o:"
    async with open_model_server(TOUCH, says("Done.")) as server:
        configured(tmp_path, server.base_url, RULE)
        async with open_shell(tmp_path, size) as screen:
            await screen.stands(size, lambda rows: rows[-1:] == ["$"])
            await screen.type("hookgate chat --once go\r")
            await screen.stands(size, lambda rows: rows[-1] == asked)
            await screen.type("\x1a")
            await screen.stands(size, lambda rows: rows[-1] == "$")
            await screen.type("fg\r")
            await screen.stands(size, lambda rows: rows[-1] == asked)
            await screen.type("y\r")
            await screen.stands(size, lambda rows: rows[-2:] == ["Done.", "$"])
            await screen.type("exit\r")
            await screen.ends()
    assert (tmp_path / "made").exists()


async def test_yes_is_said_where_a_person_here_could_say_it_and_the_record_says_who_and_how(tmp_path: Path) -> None:
    async with open_model_server(TOUCH, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url, RULE)
        ended = await run(folder, "chat", "--once", "go", "--yes", "--session", "one")
        assert (ended.returncode, ended.stdout) == (0, b"Done.\n")
        assert ended.stderr.decode() == "\u00b7 yes to bash by --yes (rule:shell asks)\n"
    # A conversation that is kept by name has a journal of its own.
    [journal] = (tmp_path / ".local").rglob("*one*.db")
    configured(tmp_path, server.base_url, f'[store]\njournal = "{journal}"\n')
    records = [json.loads(line) for line in (await run(folder, "audit", "export")).stdout.splitlines()]
    [decided] = [it["texts"] for it in records if '"kind":"decided"' in it.get("body", "")]
    said = {name: bytes.fromhex(text["text"]).decode() for name, text in decided.items()}
    assert said == {"id": "cli:user", "person": "cli:user", "reason": "said by --yes"}
    assert (tmp_path / "made").exists()


@pytest.mark.parametrize("more", ["hook", "ann"])
async def test_yes_overrules_no_hook_and_no_rule_that_names_others(tmp_path: Path, more: str) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    wanted = calls(("1", "bash", '{"command": "touch made; rm -rf releases"}'))
    async with open_model_server(wanted, says("I may not.")) as server:
        folder = configured(tmp_path, server.base_url, guard + RULE if more == "hook" else ANN)
        ended = await run(folder, "chat", "--once", "go", "--yes", "--fail-on-denial")
    assert (ended.returncode, ended.stdout) == (3, b"I may not.\n")
    assert ended.stderr == b"hookgate: 1 call refused\n"
    assert not (tmp_path / "made").exists()
    told = server.requests[1].body["messages"][-1]["content"]
    assert ("by hook" if more == "hook" else "only ann may approve this") in told


async def test_nothing_refused_is_status_0_and_the_flags_are_for_one_question(tmp_path: Path) -> None:
    async with open_model_server(TOUCH, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url)
        ended = await run(folder, "chat", "--once", "go", "--fail-on-denial")
        assert (ended.returncode, ended.stdout, ended.stderr) == (0, b"Done.\n", b"")
        for flags in (("--yes",), ("--fail-on-denial",), ("--once", "go", "--yes-from-stdin")):
            assert (await run(folder, "chat", *flags)).returncode == 2


DROPPING = """
from hookgate_plugin import Plugin
plugin = Plugin("guard")
@plugin.{stage}
def judge(message):
    {does}
plugin.run()
"""


@pytest.mark.parametrize(
    ("stage", "does", "said"),
    [
        ("on_message", "return plugin.drop('spam')", "· Message refused by hook guard: spam\n"),
        ("on_message", "return plugin.drop('spam', tell='Not today.')", "· Not today.\n"),
        ("on_message", "return plugin.drop('spam', tell='')", ""),
        ("on_message", "raise ValueError('oops')", "· Message refused: hook guard failed at on_message"),
        ("before_send", "return plugin.drop('no', tell='I keep that.')", "· I keep that.\n"),
    ],
)
async def test_what_a_hook_says_that_dropped_the_message_or_withheld_the_answer_stands_on_stderr(
    tmp_path: Path, stage: str, does: str, said: str
) -> None:
    dropping = hook(tmp_path, "guard", f'intercept = ["{stage}"]\non_failure = "deny"')
    (tmp_path / "guard.py").write_text(DROPPING.format(stage=stage, does=does))
    async with open_model_server(says("Hello.")) as server:
        ended = await run(configured(tmp_path, server.base_url, dropping), "chat", "--once", "hi")
    told = "".join(line for line in ended.stderr.decode().splitlines(keepends=True) if line.startswith("· "))
    assert (ended.returncode, ended.stdout, told[: len(said) or 1]) == (1, b"", said), ended
    assert ended.stderr.endswith(b"hookgate: it ended without an answer\n")


async def test_what_was_said_before_a_signal_is_printed(tmp_path: Path) -> None:
    call = {"index": 0, "id": "1", "type": "function"}
    wanted = {**call, "function": {"name": "bash", "arguments": '{"command": "echo up > up; sleep 60"}'}}
    looks = events(chunk({"content": "Let me look."}), chunk({"tool_calls": [wanted]}), chunk({}, "tool_calls"))
    async with (
        open_model_server(looks) as server,
        open_fifo(tmp_path / "up") as tool,
        open_pipes(configured(tmp_path, server.base_url), "chat", "--once", "go") as screen,
    ):
        await screen.hang_up()
        await tool.rings()
        screen.process.terminate()
        assert await screen.ends() == 130
        await screen.sees("Let me look.\n")
        await screen.sees("hookgate: it was interrupted before the end of the answer\n")
    await none_left(tmp_path)
