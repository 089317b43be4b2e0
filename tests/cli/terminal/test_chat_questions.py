"""What a person at a small terminal sees of a question, read from the screen itself: no other words pass for it."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.channels.terminal.channel import GONE
from hookgate.control.client import call
from tests.cli.program import PLUGINS, Screen, configured, none_left, open_terminal
from tests.model_server import Answer, calls, open_model_server, says

RULE = '[[approvals]]\nname = "shell"\ntools = ["bash"]\n'
ROWS, COLUMNS = 12, 40
FAKE = "? Run bash?  (rule:shell asks)"
ASKED = "allow? [y]es once, [s]ession, [n]o:"


def bash(command: str) -> Answer:
    return calls(("1", "bash", json.dumps({"command": command})))


@asynccontextmanager
async def asked(folder: Path, command: str, who: str = RULE) -> AsyncGenerator[Screen]:
    """A chat on a small terminal that has just been told to run this; left in the end, with nothing run after it."""
    async with (
        open_model_server(bash(command), says("Done.")) as server,
        open_terminal(configured(folder, server.base_url, who), "chat", size=(ROWS, COLUMNS)) as screen,
    ):
        await screen.line("go")
        await screen.sees("? Run bash?  (")
        yield screen
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0


async def test_a_short_question_is_on_the_screen_as_a_whole(tmp_path: Path) -> None:
    async with asked(tmp_path, "touch made") as screen:
        await screen.sees(ASKED)
        rows = screen.window(ROWS, COLUMNS)
        first = rows.index(FAKE)
        assert rows[first + 1 : first + 3] == ["  command:", "| touch made"]
        assert rows[-3] == "  bash: 10 characters; sha256"
        assert re.fullmatch(r"    [0-9a-f]{12}", rows[-2])
        assert rows[-1].startswith("  allow? [y]es once, [s]ession, [n]o:")
        await screen.type("y\r")
    assert (tmp_path / "made").exists()


FORGERIES = {
    "width": "touch made #".ljust(COLUMNS) + FAKE.ljust(COLUMNS) + "  command: ls".ljust(COLUMNS),
    "behind the gutter": "touch made #".ljust(COLUMNS - 3)
    + FAKE.ljust(COLUMNS - 3)
    + "  command:".ljust(COLUMNS - 3),
    "lines": f"touch made #{chr(10) * 40}{FAKE}\n  command:\n| ls",
    "blanks": f"touch made #{' ' * 4000}{FAKE}",
    "wide": f"touch made #{chr(0x8349) * 14}{FAKE}",
    "fillers": f"touch made #{chr(0x3164) * 400}{FAKE}",
    "separators": f"touch made #{chr(0x2028) * 40}{FAKE}",
    "erasing": f"touch made #\r\x1b[2J\x1b[H{FAKE}",
    "marks": f"touch made #{'e' + chr(0x301) * 400}{FAKE}",
}


@pytest.mark.parametrize("forgery", list(FORGERIES))
async def test_no_padding_brings_anothers_question_to_the_beginning_of_a_row(tmp_path: Path, forgery: str) -> None:
    async with asked(tmp_path, FORGERIES[forgery]) as screen:
        rows: list[str] = []
        while True:
            before = rows
            rows = await screen.stands((ROWS, COLUMNS), lambda it, before=before: it != before and asks(it))
            theirs = [row for row in rows if row.startswith(("? ", "  command: ls"))]
            assert theirs in ([FAKE], [])
            assert rows[-1].startswith("  read all") or any(row.startswith("  bash: ") for row in rows[-4:])
            if "allow?" in "".join(rows[-2:]):
                break
            assert any(row.startswith("  ... ") for row in rows)
            await screen.type("w\r")
        await screen.type("n\r")
    assert "touch made #" in screen.shown
    assert not (tmp_path / "made").exists()


def asks(rows: list[str]) -> bool:
    return bool(rows) and rows[-1].endswith("[n]o:")


async def test_a_yes_before_the_end_was_read_is_none(tmp_path: Path) -> None:
    async with asked(tmp_path, "\n".join(f"echo {number}" for number in range(9)) + "\ntouch made") as screen:
        await screen.sees("... 5 of 11 rows are not shown")
        await screen.sees("[v]iew, [w]hole, [n]o:")
        assert "echo 5" not in screen.shown
        await screen.type("y\r")
        await screen.sees("A yes counts once all of it has been")
        await screen.sees("[n]o:")
        assert not (tmp_path / "made").exists()
        await screen.type("w\r")
        await screen.sees("echo 5")
        await screen.sees(ASKED)
        await screen.type("n because it is Friday\r")
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("way", ["approve", "question"])
async def test_no_command_says_yes_to_what_was_not_shown_until_pending_has_shown_it(tmp_path: Path, way: str) -> None:
    async with asked(tmp_path, "\n".join(f"echo {number}" for number in range(200)) + "\ntouch made") as screen:
        await screen.sees("[v]iew, [w]hole, [n]o:")
        await screen.type("/pending\r")
        await screen.sees(" Run bash? (rule:shell,")
        [id_] = re.findall(r"([0-9a-f]{8}) Run bash\?", screen.shown)
        await screen.sees("[n]o:")
        for grant in ("", " session"):
            await screen.type(f"/approve {id_}{grant}\r")
            await screen.sees("Not counted: not all of it has")
            await screen.sees("[n]o:")
        assert not (tmp_path / "made").exists()
        await screen.type(f"/pending {id_}\r")
        await screen.sees("echo 150")
        await screen.sees(ASKED)
        await screen.type("y\r" if way == "question" else f"/approve {id_}\r")
    assert (tmp_path / "made").exists()


async def test_a_command_says_yes_to_what_the_question_shows_whole(tmp_path: Path) -> None:
    async with asked(tmp_path, "touch made") as screen:
        await screen.sees(ASKED)
        await screen.type("/pending\r")
        await screen.sees(" Run bash? (rule:shell,")
        [id_] = re.findall(r"([0-9a-f]{8}) Run bash\?", screen.shown)
        await screen.type(f"/approve {id_[:3]}\r")
        await screen.sees("Say more of its id: at least 4")
        await screen.type(f"/approve {id_[:4]}\r")
        await screen.sees("Allowed.")
    assert (tmp_path / "made").exists()


async def test_what_is_not_a_secret_is_shown_and_what_is_one_can_be_revealed(tmp_path: Path) -> None:
    token = "ghp_" + "a1B2" * 6
    async with asked(tmp_path, f"echo cookie: {token}; touch made") as screen:
        await screen.sees("[r]eveal")
        # What is typed before the prompt stands there answers nothing.
        await screen.sees("[n]o: ")
        rows = screen.window(ROWS, COLUMNS)
        assert "; touch made" in "".join(row[2:] for row in rows if row[:2] in ("| ", ": "))
        assert token not in screen.shown
        await screen.type("r\r")
        await screen.sees(token[-8:])
        await screen.sees(ASKED)
        await screen.type("y\r")
    assert (tmp_path / "made").exists()


ASKER = """
from hookgate_plugin import Plugin
plugin = Plugin("asker")

@plugin.approve_tool()
def asks(call):
    return plugin.ask(title="Run ls?" + " " * 32 + "? Run ls?", text="x" * 39 + "  command:")

plugin.run()
"""


async def test_what_a_hook_says_is_behind_the_gutter_and_the_call_is_shown_all_the_same(tmp_path: Path) -> None:
    (tmp_path / "asker.py").write_text(ASKER)
    (tmp_path / "hookgate_plugin.py").write_text((PLUGINS / "hookgate_plugin.py").read_text())
    command = f'["{sys.executable}", "{tmp_path}/asker.py"]'
    section = f'[hooks.processes.asker]\ncommand = {command}\nintercept = ["approve_tool"]\n'
    async with asked(tmp_path, "touch made", section) as screen:
        await screen.sees("[w]hole, [n]o:")
        await screen.type("w\r")
        await screen.sees(ASKED)
        await screen.type("n\r")
    rows = [row for row in screen.window(100, COLUMNS) if row.startswith(("? ", "  hook", "  command:", "| touch"))]
    assert rows[-4:] == ["? Run bash?  (hook:asker asks)", "  hook:asker says:", "  command:", "| touch made"]


@pytest.mark.parametrize("pager", ["cat > seen; echo read >", "no-such-pager"])
async def test_a_long_call_is_viewed_in_a_pager_and_written_where_there_is_none(tmp_path: Path, pager: str) -> None:
    command = "\\n".join([*(f"echo {number}" for number in range(30)), "touch made\\u001b[2J"])
    section = f"{RULE}"
    async with (
        open_model_server(calls(("1", "bash", f'{{"command": "{command}"}}')), says("Done.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url, section),
            "chat",
            size=(24, 80),
            variables={"PAGER": f"sh -c '{pager} /dev/tty'"},
        ) as screen,
    ):
        await screen.line("go")
        await screen.sees("... 20 of 32 rows are not shown")
        await screen.sees("[n]o: ")
        await screen.type("v\r")
        await screen.sees("read" if pager.startswith("cat") else "| echo 15")
        await screen.sees(ASKED)
        await screen.type("y\r")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    if pager.startswith("cat"):
        seen = (tmp_path / "seen").read_text()
        assert seen.count("| echo ") == 30
        assert seen.replace("\n", "").isprintable()


async def test_an_edit_is_a_diff_and_does_not_run_on_another_file_than_was_shown(tmp_path: Path) -> None:
    edits = json.dumps({"path": "notes.txt", "edits": [{"oldText": "two", "newText": "2"}]})
    (tmp_path / "notes.txt").write_text("one\ntwo\n")
    rule = '[[approvals]]\ntools = ["edit"]\n'
    wanted = calls(("1", "edit", edits), ("2", "edit", edits))
    async with (
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url, rule), "chat") as screen,
    ):
        await screen.line("go")
        await screen.sees("? Run edit?  (rule:edit asks, call 1 of 2)\n  what it would change in notes.txt:\n")
        await screen.sees("|  one\n| -two\n| +2\n")
        await screen.sees("[n]o: ")
        (tmp_path / "notes.txt").write_text("zero\ntwo\n")
        await screen.type("y\r")
        await screen.sees("? Run edit?  (rule:edit asks, call 2 of 2)")
        await screen.sees("|  zero\n| -two\n| +2\n")
        await screen.sees("[n]o: ")
        await screen.type("y\r")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert (tmp_path / "notes.txt").read_text() == "zero\n2\n"
    first, second = server.requests[1].body["messages"][-2:]
    assert "a file that it runs or changes is another one than was shown" in first["content"]
    assert "+2" in second["content"]


async def test_a_question_that_an_operator_decides_is_over_at_the_terminal_and_who_has_is_said(
    tmp_path: Path,
) -> None:
    socket = tmp_path / "control" / "chat.sock"
    async with (
        open_model_server(bash("touch made"), says("Done.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", "--control", str(socket)) as screen,
    ):
        await screen.line("go")
        await screen.sees(ASKED)
        [waiting] = await operated(socket, "approvals.list")
        decided = await operated(socket, "approvals.decide", request=waiting["request"], approved=True)
        assert (decided["counted"], decided["text"]) == (True, "Allowed.")
        await screen.sees(GONE.strip())
        await screen.sees("Run bash? operator has allowed it.")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert (tmp_path / "made").exists()


async def test_a_question_whose_time_is_over_is_gone_and_the_prompt_is_there_again(tmp_path: Path) -> None:
    rule = f"{RULE}ttl_s = 1\n"
    async with (
        open_model_server(bash("touch made"), says("Too late.")) as server,
        open_terminal(configured(tmp_path, server.base_url, rule), "chat", size=(24, 80)) as screen,
    ):
        await screen.line("go")
        await screen.sees(ASKED)
        await screen.sees("Too late.")
        await screen.line("hello")
        await screen.sees("hello\n")
        rows = screen.window(24, 80)
        over = rows.index(GONE.rstrip())
        refused = "\u00b7 bash: touch made \u2026 denied by approval: nobody answered within 1 s"
        assert [row for row in rows[over:] if "nobody answered" in row] == [refused]
        assert "> hello" in rows
        assert not [row for row in rows[over:] if "allow?" in row]
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert not (tmp_path / "made").exists()
    assert "nobody answered within 1 s" in server.requests[1].body["messages"][-1]["content"]


@pytest.mark.parametrize("ends", ["sent", "taken away", "rubbed out", "a command"])
async def test_an_answer_that_is_half_typed_when_its_question_is_over_is_no_message(
    tmp_path: Path, ends: str
) -> None:
    socket = tmp_path / "control" / "chat.sock"
    typed = "/whoami" if ends == "a command" else "n because"
    async with (
        open_model_server(bash("touch made"), says("Done.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url, RULE), "chat", "--control", str(socket), size=(24, 80)
        ) as screen,
    ):
        await screen.line("go")
        await screen.sees(ASKED)
        await screen.type(typed)
        await screen.stands((24, 80), lambda rows: rows[-1].endswith(typed))
        [waiting] = await operated(socket, "approvals.list")
        await operated(socket, "approvals.decide", request=waiting["request"], approved=False)
        await screen.stands((24, 80), lambda rows: rows[-1] == f"  (over) {typed}" and "Done." in rows)
        match ends:
            case "sent":
                await screen.type(" it is wrong\r")
                over = '\u00b7 "n because it is wrong" came when its question was over, and answers no other'
                await screen.stands((24, 80), lambda rows: rows[-2:] == [over, ">"])
            case "taken away":
                await screen.type("\x03")
            case "rubbed out":
                await screen.type("\x7f" * len(typed))
            case _:
                await screen.type("\r")
                await screen.sees("You are cli:user")
        await screen.stands((24, 80), lambda rows: rows[-1] == ">")
        await screen.line("hello")
        await screen.sees("hello\n")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert [it.body["messages"][-1]["content"] for it in server.requests[2:]] == ["hello"]


async def test_the_next_question_waits_for_the_end_of_an_answer_that_came_too_late(tmp_path: Path) -> None:
    socket, size = tmp_path / "control" / "chat.sock", (24, 80)
    wanted = calls(("1", "bash", '{"command": "touch one"}'), ("2", "bash", '{"command": "touch two"}'))
    async with (
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url, RULE), "chat", "--control", str(socket), size=size
        ) as screen,
    ):
        await screen.line("go")
        await screen.sees(ASKED)
        await screen.type("n not this")
        await screen.stands(size, lambda rows: rows[-1].endswith("n not this"))
        first = (await operated(socket, "approvals.list"))[0]
        await operated(socket, "approvals.decide", request=first["request"], approved=False)
        await screen.stands(
            size, lambda rows: rows[-1] == "  (over) n not this" and any("touch two" in row for row in rows)
        )
        await screen.type(" one\r")
        over = '\u00b7 "n not this one" came when its question was over, and answers no other'
        await screen.stands(size, lambda rows: over in rows and rows[-1].endswith("[n]o:"))
        await screen.type("y\r")
        await screen.sees("Done.")
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert [(tmp_path / it).exists() for it in ("one", "two")] == [False, True]


async def test_a_pager_ends_with_its_question(tmp_path: Path) -> None:
    socket, nap = tmp_path / "control" / "chat.sock", f"27182.{os.getpid():07}"
    pager = {"PAGER": f"sh -c 'echo reading > /dev/tty; exec sleep {nap}'"}
    async with (
        open_model_server(bash("true\n" * 40), says("Done.")) as server,
        open_terminal(
            configured(tmp_path, server.base_url, RULE),
            "chat",
            "--control",
            str(socket),
            size=(24, 80),
            variables=pager,
        ) as screen,
    ):
        await screen.line("go")
        await screen.sees("[w]hole, [n]o: ")
        await screen.type("v\r")
        await screen.sees("reading")
        [waiting] = await operated(socket, "approvals.list")
        await operated(socket, "approvals.decide", request=waiting["request"], approved=False)
        await screen.sees(GONE.strip())
        await screen.sees("Done.")
        await none_left(nap)
        await screen.line("/quit")
        assert await screen.ends() == 0


async def operated(socket: Path, method: str, **params: Any) -> Any:
    with trio.fail_after(60):
        return await trio.to_thread.run_sync(call, socket, method, params)
