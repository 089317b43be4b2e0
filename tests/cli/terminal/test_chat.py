"""`hookgate chat` as a person uses it: on a terminal and between pipes, with every way to stop and to leave."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

import pytest
import trio

from tests.cli.program import (
    DEADLINE_S,
    HOOKGATE,
    PROMPT,
    Screen,
    configured,
    environment,
    hook,
    leaves,
    none_left,
    open_chat,
    open_fifo,
    open_pipes,
    open_terminal,
    processes_of,
    run,
    unwarned,
)
from tests.machine import with_and_without
from tests.model_server import Answer, ModelServer, calls, hang, open_model_server, says
from tests.processes import until

RULE = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
# No other process sleeps for so long: found by its command line.
NAP = f"31415.{os.getpid():07}"


def bash(command: str, call_id: str = "1") -> Answer:
    return calls((call_id, "bash", f'{{"command": "{command}"}}'))


async def arrived(server: ModelServer) -> None:
    with trio.fail_after(DEADLINE_S):
        await server.arrived.wait()


async def left_cleanly(screen: Screen, folder: Path) -> None:
    assert await screen.ends() == 0
    await none_left(folder)
    await none_left(NAP)
    assert "Traceback" not in screen.shown


# --- between pipes ------------------------------------------------------------------------------------------


@with_and_without("bwrap")
async def test_lines_of_a_pipe_are_answered_one_after_the_other(tmp_path: Path) -> None:
    async with open_model_server(says("One."), says("Two.")) as server:
        folder = configured(tmp_path, server.base_url)
        ended = await run(folder, "chat", stdin=b"first\n\nsecond\n")
    assert (ended.returncode, ended.stderr) == (0, b"")
    lines = unwarned(ended.stdout.decode()).splitlines()
    assert [line for line in lines if "." in line][-2:] == ["One.", "Two."]
    said = [message["content"] for message in server.requests[1].body["messages"] if message["role"] == "user"]
    assert said == ["first", "second"]


async def test_whoever_reads_no_more_ends_the_chat_without_a_word(tmp_path: Path) -> None:
    """In the middle of an answer, of which a pipe holds a part."""
    async with open_model_server(says(*["a line of the answer\n" * 100] * 100)) as server:
        folder = configured(tmp_path, server.base_url)
        line = f"(echo go | {' '.join(HOOKGATE)} chat 2> said; echo $? > status) | head -3"
        with trio.fail_after(DEADLINE_S):
            await trio.run_process(["/bin/sh", "-c", line], cwd=folder, env=environment(folder), capture_stdout=True)
    assert (folder / "status").read_text() == "141\n"
    assert unwarned((folder / "said").read_text()) == ""


@pytest.mark.parametrize("shows_denials", [False, True])
async def test_a_pipe_answers_no_question_and_hears_why_once(tmp_path: Path, shows_denials: bool) -> None:
    async with open_model_server(bash("touch made"), says("I may not.")) as server:
        file = configured(tmp_path, server.base_url, RULE) / "hookgate.toml"
        if shows_denials:
            file.write_text(file.read_text().replace("[agent]", "[agent]\nshow_denials = true"))
        ended = await run(tmp_path, "chat", stdin=b"go\ny\n")
    assert ended.returncode == 0
    assert not (tmp_path / "made").exists()
    [told] = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert told.startswith("Tool execution denied by approval: nobody can be asked here: this is no terminal")
    assert ended.stdout.count(b"nobody can be asked here") == 1
    assert (b"! bash is refused: nobody" in ended.stdout) is not shows_denials
    # The line is what it would be without a question: the next message.
    assert [m["content"] for m in server.requests[2].body["messages"] if m["role"] == "user"] == ["go", "y"]


@with_and_without("bwrap")
async def test_a_pipe_can_answer_the_approval_question_where_the_command_line_says_so(tmp_path: Path) -> None:
    wanted = calls(
        ("1", "bash", '{"command": "touch yes"}'),
        ("2", "bash", '{"command": "touch no"}'),
        ("3", "bash", '{"command": "touch nobody"}'),
    )
    async with open_model_server(wanted, says("Done.")) as server:
        folder = configured(tmp_path, server.base_url, RULE)
        ended = await run(folder, "chat", "--yes-from-stdin", stdin=b"go\nmaybe\ny\nn\n")
    assert ended.returncode == 0
    assert [name for name in ("yes", "no", "nobody") if (tmp_path / name).exists()] == ["yes"]
    told = [m["content"] for m in server.requests[1].body["messages"] if m["role"] == "tool"]
    assert told[1:] == [
        "Tool execution denied by approval: the user said no",
        "Tool execution denied by approval: nobody answered",
    ]
    assert b"  command:\n| touch yes\n" in ended.stdout


async def test_commands_of_the_prompt_need_no_model(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    folder = configured(tmp_path, "http://127.0.0.1:9/v1", guard)
    ended = await run(folder, "chat", stdin=b"/help\n/tools\n/hooks\n/stop\n/new\n/quit\nnever asked\n")
    shown = ended.stdout.decode()
    assert (ended.returncode, ended.stderr) == (0, b"")
    assert "hookgate: p/m; 1 hook" in shown
    for expected in (
        "/quit              leave",
        "web_fetch",
        "guard  up",
        "Nothing is running",
        "A new conversation.",
    ):
        assert expected in shown
    assert "The model call failed" not in shown


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGINT])
async def test_a_signal_at_the_prompt_of_a_pipe_ends_it_cleanly(tmp_path: Path, number: signal.Signals) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_pipes(configured(tmp_path, "http://127.0.0.1:9/v1", guard), "chat") as screen:
        await screen.sees(PROMPT)
        screen.process.send_signal(number)
        await left_cleanly(screen, tmp_path)


MUTE = """
import os, signal, sys
signal.signal(signal.SIGTERM, signal.SIG_IGN)
os.write(os.open(sys.argv[1], os.O_WRONLY), b"up")
while True:
    signal.pause()
"""


async def test_sigterm_while_a_hook_starts_leaves_no_process_behind(tmp_path: Path) -> None:
    """The hook never says hello and goes neither at the end of its input nor at SIGTERM."""
    (tmp_path / "mute.py").write_text(MUTE)
    command = f'["{sys.executable}", "{tmp_path}/mute.py", "{tmp_path}/up"]'
    section = f'[hooks.processes.mute]\ncommand = {command}\nobserve = ["*"]\n'
    async with (
        open_fifo(tmp_path / "up") as started,
        open_pipes(configured(tmp_path, "http://127.0.0.1:9/v1", section), "chat") as screen,
    ):
        await started.rings()
        screen.process.send_signal(signal.SIGTERM)
        await left_cleanly(screen, tmp_path)


@with_and_without("bwrap")
async def test_sigterm_in_the_middle_of_a_turn_ends_it_cleanly(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with (
        open_model_server(bash(f"echo up > up; sleep {NAP}")) as server,
        open_fifo(tmp_path / "up") as tool,
        open_pipes(configured(tmp_path, server.base_url, guard), "chat") as screen,
    ):
        await screen.line("go")
        await tool.rings()
        await until(lambda: processes_of(NAP))
        screen.process.send_signal(signal.SIGTERM)
        await left_cleanly(screen, tmp_path)


# --- on a terminal ------------------------------------------------------------------------------------------


async def test_a_conversation_on_a_terminal_streams_and_ctrl_d_leaves(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_chat(tmp_path, says("Good ", "morning."), says("Again."), more=guard) as (_server, screen):
        await screen.line("hello")
        await screen.sees("Good morning.")
        await screen.line("hello again")
        await screen.sees("Again.")
        await screen.sees(PROMPT)
        await screen.type("\x04")
        await left_cleanly(screen, tmp_path)
    assert "\n".join(screen.window(50, 200)).count("Good morning.") == 1


@with_and_without("bwrap")
async def test_ctrl_c_ends_the_turn_and_kills_what_it_runs_and_the_chat_goes_on(tmp_path: Path) -> None:
    script = (bash(f"echo up > up; sleep {NAP}"), says("Still here."))
    async with (
        open_model_server(*script) as server,
        open_fifo(tmp_path / "up") as tool,
        open_terminal(configured(tmp_path, server.base_url), "chat") as screen,
    ):
        await screen.line("go")
        await tool.rings()
        await until(lambda: processes_of(NAP))
        await screen.type("\x03")
        await screen.sees("Stopped.")
        await none_left(NAP)
        await screen.line("hello?")
        await screen.sees("Still here.")
        await screen.sees(PROMPT)
        await screen.type("\x04")
        await left_cleanly(screen, tmp_path)


async def test_ctrl_c_ends_a_model_call(tmp_path: Path) -> None:
    async with open_chat(tmp_path, hang(says("I was "), 2), says("Still here.")) as (_server, screen):
        await screen.line("go")
        await screen.sees("I was")
        await screen.type("\x03")
        await screen.sees("Stopped.")
        await screen.line("hello?")
        await screen.sees("Still here.")
        await leaves(screen, tmp_path)


async def test_ctrl_c_twice_at_the_prompt_leaves(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_terminal(configured(tmp_path, "http://127.0.0.1:9/v1", guard), "chat") as screen:
        await screen.sees("Ctrl-D to leave")
        await screen.type("\x03")
        await screen.sees("Ctrl-C again")
        await screen.sees(PROMPT)
        await until(lambda: processes_of(tmp_path))
        await screen.type("\x03")
        await left_cleanly(screen, tmp_path)


async def test_ctrl_c_in_a_turn_and_two_at_the_prompt_leave_no_process_behind(tmp_path: Path) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    script = (bash(f"echo up > up; sleep {NAP}"),)
    async with (
        open_model_server(*script) as server,
        open_fifo(tmp_path / "up") as tool,
        open_terminal(configured(tmp_path, server.base_url, guard), "chat") as screen,
    ):
        await screen.line("go")
        await tool.rings()
        await screen.type("\x03")
        await screen.sees("Stopped.")
        for _ in range(2):
            await screen.sees(PROMPT)
            await screen.type("\x03")
        await left_cleanly(screen, tmp_path)


async def test_ctrl_c_while_a_turn_ends_warns_before_the_next_one_leaves(tmp_path: Path) -> None:
    script = (bash("trap 'echo ends > up' TERM; echo up > up; while :; do sleep 0.1; done"),)
    async with (
        open_model_server(*script) as server,
        open_fifo(tmp_path / "up") as tool,
        open_terminal(configured(tmp_path, server.base_url, '[tools]\nsandbox = "off"\n'), "chat") as screen,
    ):
        await screen.line("go")
        for _ in range(2):
            await tool.rings()
            await screen.type("\x03")
        await screen.sees("Ctrl-C again")
        await screen.type("\x03")
        await left_cleanly(screen, tmp_path)


@pytest.mark.parametrize(
    ("answers", "made", "asked"), [(["y", "y"], ["a", "b"], 2), (["s"], ["a", "b"], 1), (["n", "y"], ["b"], 2)]
)
async def test_the_approval_question_takes_once_session_and_no(
    tmp_path: Path, answers: list[str], made: list[str], asked: int
) -> None:
    wanted = calls(("1", "bash", '{"command": "touch a"}'), ("2", "bash", '{"command": "touch b"}'))
    async with open_chat(tmp_path, wanted, says("Done."), more=RULE) as (_server, screen):
        await screen.line("go")
        for answer in answers:
            await screen.sees("? Run bash?")
            await screen.sees("allow? [y]es once, [s]ession, [n]o:")
            await screen.type(f"{answer}\r")
        await screen.sees("Done.")
        await leaves(screen, tmp_path)
    assert [name for name in ("a", "b") if (tmp_path / name).exists()] == made
    assert screen.shown.count("? Run bash?  (rule:shell asks") == asked


@with_and_without("bwrap")
async def test_ctrl_c_at_the_approval_question_ends_the_turn_and_runs_nothing(tmp_path: Path) -> None:
    async with open_chat(tmp_path, bash("touch made"), says("Still here."), more=RULE) as (_server, screen):
        await screen.line("go")
        await screen.sees("allow?")
        await screen.type("\x03")
        await screen.sees("Stopped.")
        await screen.line("hello?")
        await screen.sees("Still here.")
        await leaves(screen, tmp_path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("terminal", ["xterm", "dumb"])
async def test_ctrl_d_at_the_approval_question_is_a_no_and_the_chat_goes_on(tmp_path: Path, terminal: str) -> None:
    async with (
        open_model_server(bash("touch made"), says("I may not."), says("Still here.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", variables={"TERM": terminal}) as screen,
    ):
        await screen.line("go")
        await screen.sees("[n]o: ")
        await screen.type("\x04")
        await screen.sees("denied by approval: the user said no")
        await screen.sees("I may not.")
        await screen.line("hello?")
        await screen.sees("Still here.")
        assert "  allow? [y]es once, [s]ession, [n]o: no" in screen.window(50, 200)
        await leaves(screen, tmp_path)
    assert not (tmp_path / "made").exists()
    told = server.requests[1].body["messages"][-1]["content"]
    assert told == "Tool execution denied by approval: the user said no"


async def test_a_terminal_that_is_closed_ends_the_chat_in_order(tmp_path: Path) -> None:
    async with open_chat(tmp_path) as (_, screen):
        await screen.sees(PROMPT)
        await screen.hang_up()
        assert await screen.ends() == 0
        await none_left(tmp_path)


@pytest.mark.parametrize("moment", ["prompt", "question"])
async def test_sigterm_on_a_terminal_ends_it_cleanly(tmp_path: Path, moment: str) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_chat(tmp_path, bash("touch made"), more=guard + RULE) as (_server, screen):
        if moment == "question":
            await screen.line("go")
            await screen.sees("allow?")
        else:
            await screen.sees(PROMPT)
        screen.process.send_signal(signal.SIGTERM)
        await left_cleanly(screen, tmp_path)
    assert not (tmp_path / "made").exists()


async def test_what_a_model_says_cannot_move_the_cursor(tmp_path: Path) -> None:
    async with open_model_server(says("safe\x1b[2Jgone\x07")) as server:
        ended = await run(configured(tmp_path, server.base_url), "chat", stdin=b"hello\n")
    assert b"safe\\x1b[2Jgone\\x07" in ended.stdout


async def test_what_was_typed_before_the_question_is_no_answer_to_it(tmp_path: Path) -> None:
    script = (calls(("1", "bash", '{"command": "touch pasted"}')), says("Done."))
    async with open_chat(tmp_path, *script, more=RULE) as (_server, screen):
        await screen.type("go\ry\r")
        await screen.sees("allow?")
        await screen.type("n\r")
        await screen.sees("Done.")
        assert not (tmp_path / "pasted").exists()
