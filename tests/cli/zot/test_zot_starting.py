"""While an extension starts, or is stopped again: what a person sees and may do meanwhile."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from hookgate.program.signals import STOPPING
from tests.cli.program import (
    PROMPT,
    configured,
    leaves,
    none_left,
    open_chat,
    open_fifo,
    open_pipes,
    open_terminal,
    run,
)
from tests.cli.zot.zot_folders import extension, installed
from tests.model_server import open_model_server, says

SIZE = (24, 80)
NOWHERE = "http://127.0.0.1:9/v1"
CTRL_C, CTRL_D = "\x03", "\x04"
HISTORY = ".local/state/hookgate/chat-history"
# Says nothing, and ends only once it is let.
SLOW = """
import os, sys
open("started", "w").write("x")
sys.stdin.read()
open("asked", "w").write("x")
os.read(os.open("let", os.O_RDWR), 1)
"""
# Says hello only once it is let.
COLD = """
import json, os, sys
open("started", "w").write("x")
os.read(os.open("let", os.O_RDWR), 1)
for it in {"type": "hello", "name": "slow", "version": "1"}, {"type": "ready"}:
    print(json.dumps(it), flush=True)
sys.stdin.read()
"""


def slow(folder: Path, program: str = SLOW) -> Path:
    """An installed extension that starts slowly; its folder."""
    directory = extension(installed(folder), "slow", exec=sys.executable, args=["slow.py", str(folder)])
    (directory / "slow.py").write_text(program)
    return directory


@pytest.mark.parametrize("words", ["doctor", "ext doctor", "tools list", "chat"])
async def test_ctrl_c_pressed_again_and_again_while_an_extension_starts_ends_in_one_line(
    tmp_path: Path, words: str
) -> None:
    directory = slow(tmp_path)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "asked") as asked,
        open_fifo(directory / "let") as let,
        open_terminal(configured(tmp_path, NOWHERE), *words.split()) as screen,
    ):
        await started.rings()
        await screen.type(CTRL_C)
        await asked.rings()
        await screen.type(CTRL_C)
        await screen.sees("hookgate: stopping what was started")
        await screen.type(CTRL_C)
        await let.ring()
        assert await screen.ends() == 130
        await screen.sees("hookgate: interrupted")
    assert "Traceback" not in screen.shown
    await none_left(tmp_path)


@pytest.mark.parametrize(("typed", "status"), [(CTRL_C, 130), (CTRL_D, 0), ("/quit\r", 0)])
async def test_whoever_leaves_while_an_extension_starts_has_no_line_to_type_in_any_more(
    tmp_path: Path, typed: str, status: int
) -> None:
    directory = slow(tmp_path)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "asked") as asked,
        open_fifo(directory / "let") as let,
        open_terminal(configured(tmp_path, NOWHERE), "chat", size=SIZE) as screen,
    ):
        await started.rings()
        await screen.stands(SIZE, lambda rows: rows[-1:] == [">"])
        await screen.type(typed)
        await asked.rings()
        await screen.type("early bird\r")
        await screen.stands(SIZE, lambda rows: rows[-1:] == [STOPPING])
        await let.ring()
        assert await screen.ends() == status
    after = screen.shown.partition(STOPPING)[2]
    assert (PROMPT in after, "this waits" in screen.shown) == (False, False)
    assert screen.shown.count(STOPPING) == 1


async def test_what_is_typed_while_an_extension_starts_is_seen_waits_and_is_answered(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "let") as let,
        open_chat(tmp_path, says("Good day."), says("And you.")) as (server, screen),
    ):
        await started.rings()
        await screen.sees(PROMPT)
        await screen.type("hello")
        await screen.sees("hello")
        await screen.type("\rthen half")
        await screen.sees("· this waits until all has started (/help acts at once, /quit leaves)")
        await screen.sees("then half")
        assert not server.requests
        await let.ring()
        await screen.sees("hookgate: p/m; 0 hooks, 1 extension; ")
        # What it answers stands above it.
        await screen.sees("> hello")
        await screen.sees("Good day.")
        await screen.type(" of it\r")
        await screen.sees("And you.")
        await leaves(screen, tmp_path)
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["hello", "then half of it"]
    assert "hello" in (tmp_path / HISTORY).read_text()


async def test_the_trace_of_a_message_that_has_waited_for_the_start_stands_below_it(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "let") as let,
        open_model_server(says("Good day.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--trace") as screen,
    ):
        await started.rings()
        await screen.line("early bird")
        await screen.sees("· this waits until all has started")
        await let.ring()
        await screen.sees("Good day.")
        await leaves(screen, tmp_path)
    before, _, behind = screen.shown.partition("hookgate: p/m;")[2].partition("> early bird")
    assert ("| model call" in before, "| model call" in behind) == (False, True)


async def test_commands_that_show_something_act_while_an_extension_starts_and_the_others_wait_in_their_order(
    tmp_path: Path,
) -> None:
    directory = slow(tmp_path, COLD)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "let") as let,
        open_chat(tmp_path, says("Good day.")) as (server, screen),
    ):
        await started.rings()
        await screen.sees(PROMPT)
        for typed, shown in (
            ("/help", "Type a message and Enter."),
            ("/hooks", "zot:slow  starting"),
            ("/tools", "  bash "),
            ("/pending", "· Nothing waits for your word."),
            ("/model p/other", "p/other answers from here on."),
            ("/new", "· this waits until all has started"),
            ("hello", "· this waits until all has started"),
        ):
            await screen.type(f"{typed}\r")
            await screen.sees(shown)
        await let.ring()
        await screen.sees("· A new conversation.")
        await screen.sees("Good day.")
        await leaves(screen, tmp_path)
    assert [it.body["model"] for it in server.requests] == ["other"]


@pytest.mark.parametrize(("typed", "status"), [("/quit\r", 0), (CTRL_D, 0), (CTRL_C, 130)])
async def test_whoever_will_not_wait_for_an_extension_leaves_at_its_line(
    tmp_path: Path, typed: str, status: int
) -> None:
    directory = slow(tmp_path, COLD)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "let"),
        open_terminal(configured(tmp_path, NOWHERE), "chat") as screen,
    ):
        await started.rings()
        await screen.sees(PROMPT)
        await screen.type(typed)
        assert await screen.ends() == status
    assert "Traceback" not in screen.shown
    await none_left(tmp_path)


async def test_an_extension_that_is_late_counts_as_one_that_is_still_starting(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    extension(installed(tmp_path), "ready")
    async with (
        open_fifo(directory / "started"),
        open_fifo(directory / "let"),
        open_terminal(configured(tmp_path, NOWHERE, "[zot]\nhello_timeout_ms = 300\n"), "chat") as screen,
    ):
        await screen.sees("hookgate: p/m; 0 hooks, 1 extension, 1 still starting; ")
        await leaves(screen, tmp_path)


async def test_a_single_question_names_the_extension_that_it_waits_for(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    async with (
        open_fifo(directory / "started"),
        open_fifo(directory / "let") as let,
        open_model_server(says("Yes.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--once", "Is it so?") as screen,
    ):
        await screen.sees("· waiting for the hello of slow\n")
        await let.ring()
        await screen.sees("Yes.")
        assert await screen.ends() == 0


async def test_ctrl_c_while_a_single_question_starts_leaves_one_line_of_its_own(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    size = (24, 80)
    async with (
        open_fifo(directory / "started") as started,
        open_fifo(directory / "let"),
        open_terminal(configured(tmp_path, NOWHERE), "chat", "--once", "Is it so?", size=size) as screen,
    ):
        await started.rings()
        await screen.type(CTRL_C)
        assert await screen.ends() == 130
        await screen.stands(size, lambda it: it == ["hookgate: it was interrupted before an answer"])


async def test_the_doctor_says_of_one_that_is_slow_what_a_chat_says_and_what_waits_longer(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    configured(tmp_path, NOWHERE, "[zot]\nhello_timeout_ms = 300\n")
    async with open_fifo(directory / "started"), open_fifo(directory / "let"):
        ended = await run(tmp_path, "ext", "doctor")
    assert ended.returncode == 1
    assert (
        "no hello within 0.3 s; in a chat it goes on starting, for up to 300 s, and with a higher "
        "zot.hello_timeout_ms chats and this command wait longer for it\n"
    ) in ended.stdout.decode()


async def test_a_check_waits_for_one_that_is_slow_as_long_as_a_chat_lets_it_start(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    configured(tmp_path, NOWHERE, "[zot]\nhello_timeout_ms = 300\n")
    async with (
        open_fifo(directory / "started"),
        open_fifo(directory / "let") as let,
        open_pipes(tmp_path, "hooks", "check", "slow") as screen,
    ):
        await screen.sees("slow: no hello within 0.3 s; it goes on starting, for up to 300 s\n")
        await let.ring()
        await screen.sees("it said hello, and was up after ")
        await screen.sees("prompts go on without it meanwhile")
        assert await screen.ends() == 0


async def test_a_check_of_one_that_does_not_come_in_a_chat_either_fails(tmp_path: Path) -> None:
    directory = slow(tmp_path, COLD)
    configured(tmp_path, NOWHERE, "[zot]\nhello_timeout_ms = 100\nstart_timeout_ms = 300\n")
    async with open_fifo(directory / "started"), open_fifo(directory / "let"):
        ended = await run(tmp_path, "hooks", "check", "slow")
    assert ended.returncode == 1
    assert ended.stdout.decode().split(maxsplit=2)[2].startswith("no hello within 0.3 s\n")
