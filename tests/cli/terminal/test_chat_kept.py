"""`hookgate chat --session` and `--continue`: what was said is there again, however the chat before it ended."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from shutil import copy

import pytest

from tests.cli.program import PROMPT, configured, none_left, open_terminal, run
from tests.model_server import calls, open_model_server, says
from tests.processes import running, until

RULE = '[store]\njournal = "journal.db"\n[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
ONCE = calls(("1", "bash", '{"command": "echo run >> runs"}'))


async def killed(folder: Path) -> None:
    """hookgate itself, below its guardian: the journal's lock has its number."""
    lock = folder / "journal.sessions" / "cli" / "notes.db.lock"
    pid = int(lock.read_text())
    os.kill(pid, signal.SIGKILL)
    await until(lambda: pid not in [it.pid for it in running()])


async def test_a_chat_that_was_killed_at_a_question_goes_on_there_and_runs_the_call_once(tmp_path: Path) -> None:
    async with open_model_server(says("First answer."), ONCE, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url, RULE)
        async with open_terminal(folder, "chat", "--session", "notes") as before:
            await before.line("hello")
            await before.sees("First answer.")
            await before.line("run it")
            await before.sees("echo run >> runs")
            await killed(folder)
        async with open_terminal(folder, "chat", "--continue") as after:
            await after.sees("4 messages so far; the last of them:")
            await after.sees("First answer.")
            await after.sees("going on with: run it")
            await after.sees("echo run >> runs")
            refused = await run(folder, "chat", "--session", "notes", "--once", "me too")
            await after.sees("[n]o:")
            await after.type("y\n")
            await after.sees("Done.")
            await after.sees(PROMPT)
            await after.type("\x04")
            assert await after.ends() == 0
        assert refused.returncode == 1
        assert b"notes.db is in use by another hookgate (process " in refused.stderr
        assert refused.stderr.rstrip().endswith(b": end that one first, or begin another with --session NAME")
        assert (folder / "runs").read_text() == "run\n"
        # A command that leaves is not left itself: the next chat has nothing to say of it.
        assert (await run(folder, "chat", "--continue", stdin=b"/quit\n")).returncode == 0
        assert b"unfinished" not in (await run(folder, "sessions", "list")).stdout
        again = await run(folder, "chat", "--continue", "--once", "and now?")
        assert (again.returncode, again.stderr) == (0, b"")
        listed = await run(folder, "sessions", "list")
        assert listed.stdout.decode().rstrip().endswith("8 messages (hookgate chat --session notes)")
        found = await run(folder, "where", "M2", "--session", "notes")
        assert found.stdout.startswith(b"M2 in cli:terminal/main/0 is delivered: run it\n"), found
    said = [(m["role"], m["content"]) for m in server.requests[-1].body["messages"] if m["role"] == "user"]
    assert said == [("user", "hello"), ("user", "run it"), ("user", "and now?")]
    await none_left(folder)


async def test_continue_goes_on_where_something_was_said_last_whatever_has_touched_or_copied_files(
    tmp_path: Path,
) -> None:
    async with open_model_server() as server:
        folder = configured(tmp_path, server.base_url, RULE)
        for name in ("one", "two"):
            assert (await run(folder, "chat", "--session", name, "--once", f"in {name}")).returncode == 0
        assert (await run(folder, "chat", "--session", "silent")).returncode == 0
        kept = folder / "journal.sessions" / "cli"
        copy(kept / "two.db", kept / "copy.db")
        later = (kept / "copy.db").stat().st_mtime + 10
        for name in ("one", "silent"):
            os.utime(kept / f"{name}.db", (later, later))
        assert (await run(folder, "chat", "--continue", "--once", "here")).returncode == 0
        listed = (await run(folder, "sessions", "list")).stdout.decode()
    assert [it["content"] for it in server.requests[-1].body["messages"][-3::2]] == ["in two", "here"]
    assert "4 messages (hookgate chat --session two)" in listed


async def test_of_several_under_one_name_the_command_stands_beside_the_one_that_it_goes_on_with(
    tmp_path: Path,
) -> None:
    async with open_model_server() as server:
        folder = configured(tmp_path, server.base_url)
        assert (await run(folder, "chat", "--session", "two", stdin=b"one\n/new\ntwo\n")).returncode == 0
        listed = (await run(folder, "sessions", "list")).stdout.decode().splitlines()
    newer, older = sorted(listed, reverse=True)
    assert newer.startswith("cli:terminal/main/1 ")
    assert "(hookgate chat --session two)" in newer
    assert "(two, before the last /new)" in older


@pytest.mark.parametrize("anew", [False, True])
async def test_what_was_answered_before_is_laid_out_as_answers_are(tmp_path: Path, anew: bool) -> None:
    async with open_model_server(says("It **is**\n", "- so")) as server:
        folder = configured(tmp_path, server.base_url)
        assert (await run(folder, "chat", "--session", "notes", "--once", "*so?*")).returncode == 0
        async with open_terminal(folder, "chat", "--continue", size=(20, 60), anew=anew) as screen:
            rows = await screen.stands((20, 60), lambda it: it[-1:] == [">"])
            begin = rows.index("> *so?*")
            assert rows[begin : begin + 3] == ["> *so?*", "It is", " • so"]
            await screen.type("\x04")
            assert await screen.ends() == 0


async def test_a_conversation_is_kept_by_no_empty_name(tmp_path: Path) -> None:
    refused = await run(configured(tmp_path, "http://127.0.0.1:9/v1"), "chat", "--session", "", stdin=b"hello\n")
    assert (refused.returncode, refused.stdout) == (2, b"")
    assert b"--session needs a name" in refused.stderr


@pytest.mark.parametrize(
    ("kept", "how_long", "left"),
    [
        ((), "until this run of hookgate ends", "Nothing is allowed for longer here."),
        (("--session", "notes"), "that are kept by this name", "every bash call that rule:shell asks about"),
    ],
)
async def test_how_long_a_yes_for_always_holds_at_a_terminal_is_said_where_it_is_offered(
    tmp_path: Path, kept: tuple[str, ...], how_long: str, left: str
) -> None:
    rule = f'{RULE}grants = ["always"]\n'
    async with open_model_server(ONCE, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url, rule)
        async with open_terminal(folder, "chat", *kept, size=(24, 200)) as chat:
            await chat.line("run it")
            await chat.sees(f"in all conversations of whoever asks now{',' if not kept else ''} {how_long}\n")
            await chat.sees("[a]lways, [n]o:")
            await chat.type("a\r")
            await chat.sees("Done.")
            await chat.line("/quit")
            assert await chat.ends() == 0
        async with open_terminal(folder, "chat", *kept, size=(24, 200)) as later:
            await later.line("/grants")
            await later.sees(left)
            await later.line("/quit")
            assert await later.ends() == 0
