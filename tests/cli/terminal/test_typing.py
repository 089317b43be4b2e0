"""The input line of a chat as people are used to it: what is typed, pasted, searched for, completed and kept."""

from __future__ import annotations

import json
import os
import re
import signal
import termios
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from shutil import which

import pytest

from tests.cli.program import Screen, configured, hook, open_shell, open_terminal
from tests.model_server import Answer, ModelServer, calls, hang, open_model_server, says
from tests.processes import until

SIZE = ROWS, COLUMNS = 24, 80
ENTER, CTRL_C, CTRL_J, CTRL_R, CTRL_U, ALT_ENTER = "\r", "\x03", "\n", "\x12", "\x15", "\x1b\r"
UP, LEFT = "\x1b[A", "\x1b[D"
RULE = '[[approvals]]\ntools = ["bash"]\n'
KEPT = ".local/state/hookgate/chat-history"


def last(row: str) -> Callable[[list[str]], bool]:
    return lambda rows: bool(rows) and rows[-1] == row


def said(server: ModelServer) -> list[str]:
    """The last message of each request."""
    return [it.body["messages"][-1]["content"] for it in server.requests]


@asynccontextmanager
async def chat(folder: Path, *answers: str) -> AsyncGenerator[tuple[ModelServer, Screen]]:
    """At its prompt; left with /quit, as a person would."""
    async with (
        open_model_server(*map(says, answers)) as server,
        open_terminal(configured(folder, server.base_url), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        yield server, screen
        await screen.stands(SIZE, last(">"))
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0


@asynccontextmanager
async def streaming(
    folder: Path, first: str, rest: str, *following: str
) -> AsyncGenerator[tuple[ModelServer, Screen]]:
    """A chat where `first` stands of an answer that comes no further."""
    async with (
        open_model_server(hang(says(f"{first} ", rest), 2), *map(says, following)) as server,
        open_terminal(configured(folder, server.base_url), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"hello{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-2:] == [first, ">"])
        yield server, screen


@asynccontextmanager
async def at_question(folder: Path, command: str) -> AsyncGenerator[tuple[ModelServer, Screen]]:
    """A chat that asks about this command, which is all that its model wants."""
    wanted = calls(("1", "bash", json.dumps({"command": command})))
    async with (
        open_model_server(wanted, says("Done.")) as server,
        open_terminal(configured(folder, server.base_url, RULE), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"go{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-1].endswith("[n]o:"))
        yield server, screen


async def answered(screen: Screen, text: str) -> None:
    await screen.stands(SIZE, lambda rows: text in rows and rows[-1] == ">")


# --- lines --------------------------------------------------------------------------------------------------


async def test_a_message_may_have_several_lines_however_they_are_added(tmp_path: Path) -> None:
    async with chat(tmp_path, "Read.") as (server, screen):
        await screen.type(f"one{ALT_ENTER}two{CTRL_J}three\\{ENTER}four")
        rows = await screen.stands(SIZE, last("  four"))
        assert rows[-4:] == ["> one", "  two", "  three", "  four"]
        await screen.type(ENTER)
        await answered(screen, "Read.")
    assert said(server) == ["one\ntwo\nthree\nfour"]


async def test_what_is_pasted_is_one_message_and_is_sent_by_enter_alone(tmp_path: Path) -> None:
    async with chat(tmp_path, "Read.") as (server, screen):
        await screen.type("\x1b[200~first\r\nsecond\n\tthird\n\x1b[201~")
        rows = await screen.stands(SIZE, lambda rows: "  second" in rows)
        assert "      third" in rows
        assert not server.requests
        await screen.type(ENTER)
        await answered(screen, "Read.")
    assert said(server) == ["first\nsecond\n\tthird"]


async def paste(screen: Screen, text: str) -> None:
    """As a terminal does."""
    await screen.type(f"\x1b[200~{text}\x1b[201~" if screen.marks_pastes else text)


async def test_what_is_pasted_as_soon_as_a_line_stands_there_or_the_screen_is_cleared_is_a_paste(
    tmp_path: Path,
) -> None:
    async with chat(tmp_path, "Read.") as (server, screen):
        assert screen.raw.index("\x1b[?2004h") < screen.raw.index(">")
        await screen.type("\x0c")
        await until(lambda: "\x1b[2J" in screen.raw)
        await paste(screen, "first\rsecond\r")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> first", "  second"])
        assert "\x1b[?2004l" not in screen.raw
        await screen.type(ENTER)
        await answered(screen, "Read.")
    assert said(server) == ["first\nsecond"]


async def test_a_paste_whose_mark_comes_late_behind_its_esc_is_a_paste(tmp_path: Path) -> None:
    async with chat(tmp_path, "Read.") as (server, screen):
        await screen.type(f"{CTRL_R}none")
        await screen.stands(SIZE, last("nothing found; search: none"))
        await screen.type("\x1b")
        # Esc has left the search, so it was taken for a key.
        await screen.stands(SIZE, last(">"))
        await screen.type("[200~first\rsecond\r\x1b[201~")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> first", "  second"])
        await screen.type(ENTER)
        await answered(screen, "Read.")
    assert said(server) == ["first\nsecond"]


async def test_what_is_typed_while_an_answer_streams_stays_in_its_own_line_and_comes_next(tmp_path: Path) -> None:
    async with streaming(tmp_path, "Good", "morning.", "Again.") as (server, screen):
        await screen.type("next")
        rows = await screen.stands(SIZE, last("> next"))
        assert rows[-2] == "Good"
        await screen.type(ENTER)
        await screen.stands(SIZE, lambda rows: any("waits for its end" in row for row in rows))
        await screen.type(f"/compact{ENTER}")
        await screen.stands(SIZE, lambda rows: sum("waits for its end" in row for row in rows) == 2)
        await screen.type(f"/stop{ENTER}")
        await answered(screen, "Again.")
        rows = screen.window(*SIZE)
        # What it answers stands above it, however much came between.
        assert rows[rows.index("Again.") - 1] == "> next"
        assert rows.count("> next") == 2
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0
    assert said(server) == ["hello", "next"]


def asked_anew(told: str) -> Callable[[list[str]], bool]:
    """The whole question stands below what was told."""

    def holds(rows: list[str]) -> bool:
        begins = [n for n, row in enumerate(rows) if row.startswith("? Run bash?")]
        return bool(begins) and rows[-1].endswith("[n]o:") and any(told in row for row in rows[: begins[-1]])

    return holds


async def test_a_command_typed_at_a_question_acts_at_once_and_is_no_answer(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", '{"command": "touch made"}'))
    async with (
        open_model_server(wanted, says("Word."), says("Next.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"go{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-1].endswith("[n]o:"))
        await screen.type(f"/whoami{ENTER}")
        await screen.stands(SIZE, asked_anew("You are cli:user"))
        await screen.type(f"/pending{ENTER}")
        await screen.stands(SIZE, asked_anew(' bash {"command":"touch made"}'))
        await screen.type(f"/tools{ENTER}")
        await screen.stands(SIZE, asked_anew("  write "))
        await screen.type(f"/nonsense{ENTER}")
        await screen.stands(SIZE, lambda rows: any("There is no command /nonsense here." in row for row in rows))
        await screen.type(f"//word{ENTER}")
        await screen.stands(SIZE, lambda rows: any("waits for its end" in row for row in rows))
        await screen.type(f"/stop{ENTER}")
        await screen.stands(SIZE, lambda rows: any("Stopped." in row for row in rows))
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["Word.", ">"])
        await screen.type(f"next{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["Next.", ">"])
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0
    assert not (tmp_path / "made").exists()


async def test_an_answer_that_no_question_takes_is_no_message_and_stands_in_no_history(tmp_path: Path) -> None:
    wanted = calls(("1", "bash", '{"command": "touch made; read < go"}'))
    os.mkfifo(tmp_path / "go")
    async with (
        open_model_server(wanted, says("Done."), says("Read.")) as server,
        open_terminal(configured(tmp_path, server.base_url, RULE), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"go{ENTER}")
        await screen.stands(SIZE, lambda rows: rows[-1].endswith("[n]o:"))
        await screen.type(f"y{ENTER}")
        await until(lambda: (tmp_path / "made").exists())
        await screen.type(f"Y{ENTER}")
        await screen.stands(SIZE, lambda rows: any('"Y" answered no question and is not sent' in row for row in rows))
        await screen.type(UP)
        await screen.stands(SIZE, last("> go"))
        await screen.type(f"{CTRL_U} y{ENTER}")
        await screen.stands(SIZE, lambda rows: any("waits for its end" in row for row in rows))
        # Both ends, since whoever looks through the workspace may open it too.
        going = os.open(tmp_path / "go", os.O_RDWR)
        os.write(going, b"on\n")
        await answered(screen, "Read.")
        os.close(going)
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0
    assert said(server)[::2] == ["go", "y"]
    async with chat(tmp_path) as (_server, screen):
        await screen.type(UP * 2)
        await screen.stands(SIZE, last("> go"))
        await screen.type(CTRL_C)


async def test_an_answer_to_what_a_turn_has_not_asked_yet_is_no_message_and_stands_in_no_history(
    tmp_path: Path,
) -> None:
    call = calls(("1", "bash", '{"command": "touch made"}'))
    async with (
        open_model_server(hang(call, 1), says("Read.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"hello{ENTER}")
        await screen.stands(SIZE, lambda rows: any("writing a call of bash" in row for row in rows))
        for word in ("y", "Session", "no", "n because I am late", "N, later", "no because of it"):
            await screen.type(word + ENTER)
            told = f'"{word}" answered no question and is not sent'
            await screen.stands(SIZE, lambda rows, told=told: any(told in row for row in rows))
        # One of what a model may have offered, and what a message may begin with.
        await screen.type(f"1{ENTER}no, two{ENTER}")
        await screen.stands(SIZE, lambda rows: sum("waits for its end" in row for row in rows) == 2)
        await screen.type(f"/stop{ENTER}")
        await answered(screen, "Read.")
        await answered(screen, "Read.")
        await screen.type(UP * 4)
        await screen.stands(SIZE, last("> hello"))
        await screen.type(f"{CTRL_U}/quit{ENTER}")
        assert await screen.ends() == 0
    assert said(server) == ["hello", "1", "no, two"]
    written = [json.loads(line) for line in (tmp_path / KEPT).read_text().splitlines()]
    assert written == ["hello", "1", "no, two", "/stop", "/quit"]


async def test_a_yes_to_what_the_model_asks_itself_may_be_typed_before_it_has_ended(tmp_path: Path) -> None:
    async with streaming(tmp_path, "Shall", "I?", "Done.") as (server, screen):
        await screen.type(f"yes{ENTER}")
        await screen.stands(SIZE, lambda rows: any("waits for its end" in row for row in rows))
        await screen.type(f"/stop{ENTER}")
        await answered(screen, "Done.")
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0
    assert said(server) == ["hello", "yes"]


async def test_tab_completes_commands_and_the_id_of_the_call_at_its_question(tmp_path: Path) -> None:
    async with at_question(tmp_path, "touch made") as (_server, screen):
        await screen.type("/pend\t")
        await screen.stands(SIZE, lambda rows: rows[-1].endswith("[n]o: /pending"))
        await screen.type("\t")
        await screen.stands(SIZE, lambda rows: re.search(r"\[n\]o: /pending \w{8}$", rows[-1]) is not None)
        await screen.type(f"{CTRL_U}/\t")
        # What could be meant stands below it.
        await screen.stands(SIZE, lambda rows: any(row.strip() == "/approve" for row in rows))
        await screen.type(f"{CTRL_U}/approve \tonce{ENTER}")
        await answered(screen, "Done.")
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0
    assert (tmp_path / "made").exists()


async def test_the_diff_of_each_turn_stands_behind_its_answer_where_several_messages_wait(tmp_path: Path) -> None:
    def writes(text: str) -> Answer:
        return calls(("1", "write", json.dumps({"path": "note", "content": f"{text}\n"})))

    async with (
        open_model_server(writes("one"), says("First."), writes("two"), says("Second.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--diff", size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"a{ENTER}b{ENTER}")
        rows = await screen.stands(SIZE, lambda rows: "+two" in rows and rows[-1] == ">")
        shown = [row for row in rows if row in ("First.", "Second.", "+one", "-one", "+two")]
        assert shown == ["First.", "+one", "Second.", "-one", "+two"]
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0


@pytest.mark.parametrize("more", [(), ("--diff",)])
async def test_a_message_that_waited_stands_above_what_is_told_of_its_turn(
    tmp_path: Path, more: tuple[str, ...]
) -> None:
    wanted = calls(("1", "write", json.dumps({"path": "note", "content": "one\n"})))
    async with (
        open_model_server(wanted, says("First."), says("Second.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", "--trace", *more, size=SIZE) as screen,
    ):
        await screen.stands(SIZE, last(">"))
        await screen.type(f"a{ENTER}b{ENTER}")
        rows = await screen.stands(SIZE, lambda rows: "Second." in rows and rows[-1] == ">")
        marks = ("First.", "+one", "> b", "  | model call", "Second.")
        shown = [mark for row in rows[rows.index("First.") :] for mark in marks if row.startswith(mark)]
        assert shown == [mark for mark in marks if mark != "+one" or more]
        await screen.type(f"/quit{ENTER}")
        assert await screen.ends() == 0


# Without bubblewrap a line about that stands among the rows.
@pytest.mark.needs("bwrap")
async def test_a_half_typed_line_stands_there_once_however_the_width_changes(tmp_path: Path) -> None:
    def rows(draft: str, columns: int) -> list[str]:
        return [f"> {draft}"[begin : begin + columns].rstrip() for begin in range(0, len(draft) + 2, columns)]

    def stands(draft: str, columns: int) -> bool:
        shown = screen.folded(20, 100)
        return shown[-len(wanted := rows(draft, columns)) :] == wanted

    draft = " ".join(f"word{number:03}" for number in range(13))
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=(20, 100)) as screen:
        await screen.stands((20, 100), last(">"))
        await screen.type(draft)
        await until(lambda: stands(draft, 100))
        for columns in (70, 50, 40, 60, 110):
            screen.resize(20, columns)
            # A key is drawn at once, a new width after a while.
            draft += "."
            await screen.type(".")
            await until(lambda draft=draft, columns=columns: stands(draft, columns))
            assert sum("word000" in row for row in screen.folded(20, 100)) == 1
        assert "hookgate: p/m; 0 hooks" in screen.folded(20, 100)[0]
        await screen.type(f"{CTRL_C}/quit{ENTER}")
        assert await screen.ends() == 0


# --- history ------------------------------------------------------------------------------------------------


async def test_a_search_that_is_left_sends_nothing_and_the_next_question_is_the_one_on_the_screen(
    tmp_path: Path,
) -> None:
    async with chat(tmp_path, "One.", "Two.", "Three.") as (server, screen):
        await screen.type(f"an old question{ENTER}")
        await answered(screen, "One.")
        await screen.type(f"{CTRL_R}old")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> an old question", "search: old"])
        await screen.type(CTRL_C)
        await screen.stands(SIZE, last(">"))
        await screen.type(f"a new one{ENTER}")
        await answered(screen, "Two.")
        await screen.type(f"{CTRL_R}oldest")
        await screen.stands(SIZE, last("nothing found; search: oldest"))
        await screen.type(f"{CTRL_C}{CTRL_R}old{ENTER}")
        await screen.stands(SIZE, last("> an old question"))
        await screen.type(ENTER)
        await answered(screen, "Three.")
    assert said(server) == ["an old question", "a new one", "an old question"]


async def test_a_decision_by_the_id_of_a_call_stands_in_no_history(tmp_path: Path) -> None:
    async with at_question(tmp_path, "true") as (_server, screen):
        await screen.type("/Approve \t")
        await screen.stands(SIZE, lambda rows: re.search(r"/Approve [0-9a-f]{8}$", rows[-1]) is not None)
        await screen.type(ENTER)
        await answered(screen, "Done.")
        await screen.type(f"/deny abcd because of me{ENTER}")
        await answered(screen, "· There is no such request.")
        await screen.type(UP)
        await screen.stands(SIZE, last("> go"))
        await screen.type(f"{CTRL_C}/quit{ENTER}")
        assert await screen.ends() == 0
    kept = (tmp_path / KEPT).read_text().splitlines()
    assert [json.loads(line) for line in kept] == ["go", "/quit"]


@pytest.mark.parametrize(("key", "sent"), [(LEFT, "an o!ld question"), ("\x05", "an old question!")])
async def test_whoever_moves_in_what_a_search_has_found_goes_on_with_it(tmp_path: Path, key: str, sent: str) -> None:
    async with chat(tmp_path, "One.", "Two.") as (server, screen):
        await screen.type(f"an old question{ENTER}")
        await answered(screen, "One.")
        await screen.type(f"{CTRL_R}d q")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> an old question", "search: d q"])
        await screen.type(key)
        await screen.stands(SIZE, last("> an old question"))
        await screen.type(f"!{ENTER}")
        await answered(screen, "Two.")
    assert said(server) == ["an old question", sent]


async def test_a_search_that_is_left_after_it_went_on_leaves_the_line_as_it_was(tmp_path: Path) -> None:
    async with chat(tmp_path, "One.", "Two.", "Three.") as (server, screen):
        for typed, answer in (("old md 0.02", "One."), ("md 0.01", "Two.")):
            await screen.type(f"{typed}{ENTER}")
            await answered(screen, answer)
        await screen.type(f"another question{LEFT}{LEFT}{CTRL_R}md")
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> md 0.01", "search: md"])
        await screen.type(CTRL_R)
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> old md 0.02", "search: md"])
        await screen.type(CTRL_C)
        await screen.stands(SIZE, last("> another question"))
        await screen.type(f"!{ENTER}")
        await answered(screen, "Three.")
    assert said(server) == ["old md 0.02", "md 0.01", "another questi!on"]


async def test_what_was_typed_is_there_in_the_next_chat_but_no_answer_no_secret_and_nothing_behind_a_blank(
    tmp_path: Path,
) -> None:
    token = "ghp_" + "a1B2" * 9
    async with chat(tmp_path, "One.", "Two.", "Three.") as (_server, screen):
        for number, typed in (("One.", "first\nline"), ("Two.", " behind a blank"), ("Three.", f"token {token}")):
            await screen.type(typed + ENTER)
            await answered(screen, number)
    kept = tmp_path / KEPT
    assert [json.loads(line) for line in kept.read_text().splitlines()] == ["first\nline", "/quit"]
    assert kept.stat().st_mode & 0o777 == 0o600
    async with chat(tmp_path) as (_server, screen):
        await screen.type(UP * 2)
        await screen.stands(SIZE, lambda rows: rows[-2:] == ["> first", "  line"])
        await screen.type(CTRL_C)


@pytest.mark.parametrize("broken", ["lines", "folder"])
async def test_a_history_that_is_broken_is_a_line_and_no_end(tmp_path: Path, broken: str) -> None:
    kept = tmp_path / KEPT
    kept.parent.mkdir(parents=True)
    if broken == "folder":
        kept.mkdir()
    else:
        kept.write_bytes(b'"whole"\n\xff\xfe\n{"no": "text"}\n')
    async with chat(tmp_path, "One.") as (_server, screen):
        told = "the history is not kept" if broken == "folder" else "2 lines of the history"
        await screen.stands(SIZE, lambda rows: any(told in row for row in rows))
        await screen.type(f"hello{ENTER}")
        await answered(screen, "One.")
        await screen.type(UP * (1 if broken == "folder" else 2))
        await screen.stands(SIZE, last("> hello" if broken == "folder" else "> whole"))
        # Ctrl-C would be for the turn, which may not be over though its answer stands there.
        await screen.type(CTRL_U)


async def test_what_is_said_of_the_history_goes_on_with_a_word(tmp_path: Path) -> None:
    kept = tmp_path / KEPT
    kept.parent.mkdir(parents=True)
    kept.write_bytes(b"no\n")
    size = (20, len(f"! 1 lines of the history ({kept}) are none, and are passed over") - 2)
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=size) as screen:
        await screen.stands(size, lambda rows: "over" in [row.strip() for row in rows])


# --- completion ---------------------------------------------------------------------------------------------


async def test_tab_completes_commands_what_stands_behind_them_and_files(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "today.md").touch()
    (tmp_path / "two words").mkdir()
    (tmp_path / "two words" / "and more.md").touch()
    more = '[models."p/large"]\ncontext_window = 1\n[models."p/little"]\ncontext_window = 1\n'
    configured(tmp_path, "http://127.0.0.1:9/v1", more)
    async with open_terminal(tmp_path, "chat", size=SIZE) as screen:
        await screen.stands(SIZE, last(">"))
        await screen.type("/mo\tp/li\t")
        await screen.stands(SIZE, last("> /model p/little"))
        # In any case, and behind a blank of one's own.
        await screen.type(f"{CTRL_C}/MO\t p/la\t")
        await screen.stands(SIZE, last("> /model p/large"))
        await screen.type(f"{CTRL_C}look at @no\tto\tnow")
        await screen.stands(SIZE, last("> look at @notes/today.md now"))
        await screen.type(f"{CTRL_C}look at `no\tto\tnow or nowhere\t, not at")
        await screen.stands(SIZE, last("> look at `notes/today.md` now or nowhere, not at"))
        await screen.type(f"{CTRL_C}is @tw\tand\tso? now and \t")
        await screen.stands(SIZE, last('> is @"two words/and more.md" so? now and'))
        # A quote that was typed is closed, and what stands behind it is one name.
        await screen.type(f"{CTRL_C}is @\"two w\tand m\tor 'two words/\there")
        await screen.stands(SIZE, last("> is @\"two words/and more.md\" or 'two words/and more.md' here"))
        await screen.type(f"{CTRL_C}not two words/an\tof")
        await screen.stands(SIZE, last('> not "two words/and more.md" of'))
        await screen.type(f"{CTRL_C}\x15look at @\t")
        await screen.stands(SIZE, lambda rows: {"notes/", "two words/"} <= {row.strip() for row in rows})
        await screen.type(f"{CTRL_C}/model \t\t")
        await screen.stands(SIZE, lambda rows: any(row.strip() == "p/m" for row in rows))
        # Alt-/ and Esc before a command are the same bytes.
        await screen.type(f"{CTRL_C}\x1b/re\t")
        await screen.stands(SIZE, lambda rows: any("/revoke" in row for row in rows))
        await screen.type(f"{CTRL_C}/quit{ENTER}")
        assert await screen.ends() == 0


async def test_what_is_typed_after_the_first_ctrl_c_takes_the_second_ones_leave_away(tmp_path: Path) -> None:
    def told(times: int) -> Callable[[list[str]], bool]:
        return lambda rows: rows[-1] == ">" and sum("Ctrl-C again" in row for row in rows) == times

    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=SIZE) as screen:
        await screen.stands(SIZE, last(">"))
        await screen.type(CTRL_C)
        await screen.stands(SIZE, told(1))
        await screen.type("abc")
        await screen.stands(SIZE, last("> abc"))
        await screen.type(CTRL_C)
        await screen.stands(SIZE, last(">"))
        await screen.type(CTRL_C)
        await screen.stands(SIZE, told(2))
        await screen.type(CTRL_C)
        assert await screen.ends() == 0


# --- how it ends --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("way", [f"/quit{ENTER}", "\x04", signal.SIGTERM, signal.SIGHUP])
async def test_the_terminal_is_given_back_as_it_was(tmp_path: Path, way: str | signal.Signals) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=SIZE) as screen:
        before = termios.tcgetattr(screen.terminal)
        await screen.stands(SIZE, last(">"))
        assert termios.tcgetattr(screen.terminal) != before
        if isinstance(way, str):
            await screen.type(way)
        else:
            screen.process.send_signal(way)
        assert await screen.ends() == 0
        assert termios.tcgetattr(screen.terminal) == before
        await screen.stands(SIZE, lambda rows: not rows[-1].startswith(">") or "/quit" in rows[-1])
    assert not screen.marks_pastes


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
async def test_ctrl_z_gives_the_terminal_to_the_shell_and_fg_brings_the_line_back(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_shell(tmp_path, SIZE) as screen:
        await screen.stands(SIZE, last("$"))
        await screen.type(f"hookgate chat{ENTER}")
        await screen.stands(SIZE, last(">"))
        await screen.type("half")
        await screen.stands(SIZE, last("> half"))
        await screen.type("\x1a")
        await screen.stands(SIZE, last("$"))
        await screen.type(f"stty -a | grep -o ' icanon'{ENTER}")
        await screen.stands(SIZE, lambda rows: " icanon" in rows)
        await screen.type(f"fg{ENTER}")
        await screen.stands(SIZE, last("> half"))
        await screen.type(f"{CTRL_C}/quit{ENTER}")
        await screen.stands(SIZE, last("$"))
        await screen.type(f"exit{ENTER}")
        await screen.ends()


async def test_a_terminal_without_control_sequences_gets_lines_and_none_of_them(tmp_path: Path) -> None:
    async with (
        open_model_server(says("Hello.")) as server,
        open_terminal(configured(tmp_path, server.base_url), "chat", variables={"TERM": "dumb"}) as screen,
    ):
        await screen.sees("> ")
        await screen.type("hello\n")
        await screen.sees("Hello.")
        await screen.sees("> ")
        await screen.type("/quit\n")
        assert await screen.ends() == 0
    assert "\x1b" not in screen.raw
    await until(lambda: not os.path.exists(f"/proc/{screen.process.pid}"))


SLOW_END = """
import atexit, pathlib, time
from hookgate_plugin import Plugin
plugin = Plugin("slow")
@plugin.on_message
def hear(message):
    pass
atexit.register(time.sleep, 1.5)
atexit.register(pathlib.Path(__file__).with_name("ending").touch)
plugin.run()
"""


@pytest.mark.skipif(which("bash") is None, reason="no bash on PATH")
@pytest.mark.parametrize("way", ["\x04", f"/quit{ENTER}", CTRL_C])
async def test_what_is_typed_while_a_chat_leaves_is_the_shells(tmp_path: Path, way: str) -> None:
    made = tmp_path / "made"
    slow = hook(tmp_path, "guard", 'intercept = ["on_message"]')
    async with open_model_server() as server:
        configured(tmp_path, server.base_url, slow)
        (tmp_path / "guard.py").write_text(SLOW_END)
        async with open_shell(tmp_path, SIZE) as screen:
            await screen.stands(SIZE, last("$"))
            await screen.type(f"hookgate chat{ENTER}")
            await screen.stands(SIZE, last(">"))
            if way == CTRL_C:
                await screen.type(CTRL_C)
                await screen.sees("Ctrl-C again or Ctrl-D to leave")
            await screen.type(way)
            await until((tmp_path / "ending").exists)
            await screen.type(f"echo status $? > {made.name}{ENTER}")
            await screen.stands(SIZE, lambda rows: made.exists())
            await screen.stands(SIZE, last("$"))
            assert not [row for row in screen.window(*SIZE) if "rror" in row or row.startswith("> echo")]
            await screen.type(f"exit{ENTER}")
            await screen.ends()
    assert made.read_text() == "status 0\n"


async def test_a_line_that_comes_with_the_end_of_input_is_named_and_not_sent(tmp_path: Path) -> None:
    configured(tmp_path, "http://127.0.0.1:9/v1")
    async with open_terminal(tmp_path, "chat", size=SIZE) as screen:
        await screen.stands(SIZE, last(">"))
        await screen.type(f"\x04ls{ENTER}")
        await screen.sees('"ls" came when the chat had ended, and is not sent')
        assert await screen.ends() == 0
