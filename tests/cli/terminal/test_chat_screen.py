"""What a person sees at `hookgate chat`: answers laid out while they come, calls as lines, what is waited for."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import trio

from tests.cli.program import (
    DEADLINE_S,
    PROMPT,
    Screen,
    configured,
    hook,
    leaves,
    open_chat,
    open_fifo,
    open_terminal,
    run,
)
from tests.model_server import Answer, calls, fails, hang, open_model_server, says

ROWS, COLUMNS = 40, 60
ANSWER = """# Steps
First **this**, see [there](http://x/y):

```python
def f(x):

    return "\x1b[2J[red]"
```
| name | what it is for, in more words than the terminal is wide |
|---|---|
| a | b |
"""
LAID_OUT = """Steps
First this, see there (http://x/y):

```python
def f(x):

    return "\\x1b[2J[red]"
```
       what it is for, in more words than the terminal is
 name  wide
 ─────────────────────────────────────────────────────────
 a     b
"""


def streamed(text: str, pause_s: float = 0.0) -> Answer:
    return replace(says(*(text[at : at + 7] for at in range(0, len(text), 7))), pause_s=pause_s)


async def window(screen: Screen, last: str) -> list[str]:
    """The rows of the terminal as soon as one of them is this."""
    with trio.move_on_after(DEADLINE_S):
        while last not in (rows := screen.window(ROWS, COLUMNS)):
            await trio.sleep(0.02)
        return rows
    raise AssertionError("\n".join(screen.window(ROWS, COLUMNS)))


async def test_an_answer_is_laid_out_block_by_block_while_it_comes(tmp_path: Path) -> None:
    begun = streamed(ANSWER + "\nhalf a para")
    async with (
        open_model_server(hang(begun, len(begun.pieces) - 3), says("Fine.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", size=(ROWS, COLUMNS)) as screen,
    ):
        await screen.line("go")
        # The last word is held back: it could be the beginning of a secret.
        rows = await window(screen, "half a")
        begin = rows.index("Steps")
        assert rows[begin : rows.index("half a")] == LAID_OUT.splitlines()
        assert "\x1b[2J" not in screen.raw
        screen.resize(ROWS, 30)
        await screen.type("\x03")
        await screen.sees("Stopped.")
        await screen.type("more\r")
        await screen.sees("Fine.")
        await leaves(screen, tmp_path)


@pytest.mark.parametrize("how", ["--plain", "NO_COLOR", "a pipe"])
async def test_where_no_layout_is_wanted_an_answer_stands_as_it_was_written(tmp_path: Path, how: str) -> None:
    written = ANSWER.replace("\x1b", "\\x1b")
    async with open_model_server(streamed(ANSWER)) as server:
        folder = configured(tmp_path, server.base_url)
        if how == "a pipe":
            ended = await run(folder, "chat", stdin=b"go\n")
            assert ended.stdout.decode().endswith(f"\n> go\n{written}> \n")
            assert (b"\x1b" in ended.stdout, b"asking" in ended.stdout) == (False, False)
            return
        flags = ("--plain",) if how == "--plain" else ()
        variables = {"NO_COLOR": "1"} if how == "NO_COLOR" else {}
        async with open_terminal(folder, "chat", *flags, size=(ROWS, COLUMNS), variables=variables) as screen:
            await screen.line("go")
            rows = await window(screen, "| a | b |")
            begin = rows.index("# Steps")
            assert "".join(rows[begin:]).replace(" ", "").startswith("".join(written.split()))
            assert not any(f"\x1b[{number}m" in screen.raw for number in (1, 2, 31, 36))
            await leaves(screen, tmp_path)


BLOCK = "It is:\n\n```sh\nls\nls -l\n```"


@pytest.mark.parametrize("flags", [("--trace",), ("--trace", "--plain"), ("--trace", "a pipe")])
async def test_no_line_of_the_trace_stands_in_an_answer(tmp_path: Path, flags: tuple[str, ...]) -> None:
    """One that came while the last line of a block of code was held back stood between that and its fence."""
    async with open_model_server(streamed(BLOCK)) as server:
        folder = configured(tmp_path, server.base_url)
        if "a pipe" in flags:
            rows = (await run(folder, "chat", "--trace", stdin=b"go\n")).stdout.decode().splitlines()
        else:
            async with open_terminal(folder, "chat", *flags, size=(ROWS, COLUMNS)) as screen:
                await screen.line("go")
                await screen.sees("| model answer")
                rows = screen.window(ROWS, COLUMNS)
                await leaves(screen, tmp_path)
    begin = next(number for number, row in enumerate(rows) if row.endswith("It is:"))
    assert [row.removeprefix("> ") for row in rows[begin : begin + 6]] == BLOCK.splitlines()
    assert any("| model call" in row for row in rows[:begin])


async def test_each_tool_is_a_line_while_it_runs_and_when_it_has_ended(tmp_path: Path) -> None:
    wanted = calls(
        ("1", "bash", '{"command": "echo up > up; read line < on; exit 3"}'),
        ("2", "bash", '{"command": "rm -rf /"}'),
        ("3", "read", '{"path": "a.txt"}'),
    )
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    (tmp_path / "a.txt").write_text("text")
    async with (
        open_fifo(tmp_path / "up") as up,
        open_fifo(tmp_path / "on"),
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url, guard), "chat", size=(ROWS, 100)) as screen,
    ):
        await screen.line("go")
        await up.rings()
        await screen.sees("· bash: echo up > up; read line < on; exit 3 … 1 s")
        (tmp_path / "on").write_text("\n")
        await screen.sees("s failed: exit 3")
        await screen.sees("· bash: rm -rf / … denied by guard: ")
        await screen.sees("· read: a.txt … 0.0 s ok")
        await screen.sees("Done.")
        await leaves(screen, tmp_path)


@pytest.mark.parametrize("once", [False, True])
async def test_a_call_that_was_refused_is_said_once_where_each_call_has_its_line(tmp_path: Path, once: bool) -> None:
    guard = hook(tmp_path, "guard", 'intercept = ["before_tool"]\non_failure = "deny"')
    async with open_model_server(calls(("1", "bash", '{"command": "rm -rf /"}')), says("Done.")) as server:
        file = configured(tmp_path, server.base_url, guard) / "hookgate.toml"
        file.write_text(file.read_text().replace("[agent]", "[agent]\nshow_denials = true"))
        words = ("chat", "--once", "go") if once else ("chat",)
        async with open_terminal(tmp_path, *words, size=(ROWS, 100)) as screen:
            if not once:
                await screen.line("go")
            await screen.sees("· bash: rm -rf / … denied by guard: ")
            await screen.sees("Done.")
            assert "Tool execution denied" not in "".join(screen.window(ROWS, 100))
            if once:
                assert await screen.ends() == 0
            else:
                await leaves(screen, tmp_path)


async def test_a_terminal_without_control_sequences_has_the_calls_as_lines_too(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", '{"command": "exit 3"}'), ("2", "read", '{"path": "a.txt"}'))
    (tmp_path / "a.txt").write_text("text")
    async with (
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", variables={"TERM": "dumb"}) as screen,
    ):
        await screen.line("go")
        await screen.sees("s failed: exit 3")
        await screen.sees("· read: a.txt … 0.0 s ok")
        await screen.sees("Done.")
        await leaves(screen, tmp_path)
    assert "\x1b" not in screen.raw


async def test_what_hookgate_says_goes_on_with_a_word_where_the_screen_ends(tmp_path: Path) -> None:
    rule = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
    wanted = calls(("1", "bash", '{"command": "echo one two three four five six"}'))
    narrow = (ROWS, 30)
    async with (
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url, rule), "chat", size=narrow) as screen,
    ):
        await screen.line("go")
        rows = await screen.stands(narrow, lambda it: bool(it) and it[-1].endswith("[n]o:"))
        assert rows[-2:] == ["  allow? [y]es once,", "    [s]ession, [n]o:"]
        assert rows[0] == "hookgate: p/m; 0 hooks; /help"
        await screen.type("n because it is far too late for that\r")
        rows = await screen.stands(narrow, lambda it: "Done." in it)
        begin = rows.index("· bash: echo one two three")
        assert " ".join(" ".join(rows[begin : rows.index("Done.")]).split()) == (
            "· bash: echo one two three four five six … denied by approval: the user said no: "
            "it is far too late for that"
        )
        await leaves(screen, tmp_path)


async def test_who_leaves_while_an_answer_streams_keeps_what_has_come_of_it(tmp_path: Path) -> None:
    begun = streamed(ANSWER + "\nhalf a para")
    async with (
        open_model_server(hang(begun, len(begun.pieces) - 3)) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", size=(ROWS, COLUMNS)) as screen,
    ):
        await screen.line("go")
        await window(screen, "half a")
        await screen.type("\x04")
        assert await screen.ends() == 0
        await window(screen, "half a")


async def test_a_sign_of_life_while_nothing_streams(tmp_path: Path) -> None:
    slow = fails(429, "slow\x1b[2J down", ("Retry-After", "2"))
    async with open_chat(tmp_path, slow, hang(says("x"), 0)) as (_server, screen):
        await screen.line("go")
        await screen.sees("· asking p/m: retry 1 of 2 in 2 s (p: ")
        await screen.sees("retry 1 of 2 in 1 s")
        await screen.sees("· asking p/m, retry 1 of 2 … 3 s")
        await screen.type("\x03")
        await screen.sees("Stopped.")
        await leaves(screen, tmp_path)
    assert "\x1b[2J down" not in screen.raw


async def test_what_was_half_said_stands_on_no_screen_that_was_cleared(tmp_path: Path) -> None:
    async with (
        open_model_server(hang(says("I was about to say"), 2)) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", size=(ROWS, COLUMNS)) as screen,
    ):
        await screen.line("first")
        await screen.sees("I was")
        await screen.type("/clear\r")
        await screen.sees("A new conversation.")
        assert "I was" not in "".join(screen.window(ROWS, COLUMNS))
        await leaves(screen, tmp_path)


async def test_clear_begins_anew_on_an_empty_screen_and_what_was_kept_stays_stored(tmp_path: Path) -> None:
    async with (
        open_model_server(says("One."), says("Two.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url), "chat", "--session", "s", size=(ROWS, COLUMNS)
        ) as screen,
    ):
        await screen.line("first")
        await screen.sees("One.")
        await screen.sees(PROMPT)
        await screen.type("/clear\r")
        await screen.sees("A new conversation. The one before stays stored")
        await screen.sees(PROMPT)
        assert "first" not in "".join(screen.window(ROWS, COLUMNS))
        await screen.type("second\r")
        await screen.sees("Two.")
        await screen.line("/new")
        await screen.sees("A new conversation. The one before stays stored")
        await leaves(screen, tmp_path)
    assert [it["content"] for it in server.requests[1].body["messages"] if it["role"] == "user"] == ["second"]
    shown = await run(tmp_path, "sessions", "list")
    assert b"s" in shown.stdout


@pytest.mark.parametrize("command", ["/grants", "/whoami", "/pending"])
async def test_what_a_command_says_in_the_middle_of_a_block_cuts_none(tmp_path: Path, command: str) -> None:
    text = "Look:\n\n```python\ndef f(x):\n    # greet\n    y = 1\n    return y\n```\n\nThat is all."
    async with open_chat(tmp_path, streamed(text, 0.1)) as (_server, screen):
        await screen.sees(PROMPT)
        await screen.line("go")
        await screen.sees("# greet")
        await screen.line(command)
        rows = await screen.stands((ROWS, 200), lambda rows: "That is all." in rows and rows[-1] == ">")
        begin = rows.index("```python")
        assert rows[begin : begin + 6] == [
            "```python",
            "def f(x):",
            "    # greet",
            "    y = 1",
            "    return y",
            "```",
        ]
        assert [row for row in rows[:begin] if row.startswith("\u00b7 ")]
        await leaves(screen, tmp_path)
