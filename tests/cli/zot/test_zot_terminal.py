"""`hookgate chat` with extensions on a terminal: panels and their keys, notes at the prompt, text for the editor."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.program import PROMPT, Screen, configured, leaves, none_left, open_chat, open_terminal, run
from tests.cli.zot.zot_folders import command, do, extension, installed, panel_extension, project
from tests.model_server import calls, says

NOWHERE = "http://127.0.0.1:9/v1"
SIZE, WINDOW = (40, 100), (50, 200)
CTRL_C, CTRL_D, CTRL_U, ESC = "\x03", "\x04", "\x15", "\x1b"


async def opened(screen: Screen) -> None:
    """It takes the keys."""
    await screen.line("/rows")
    await screen.sees("Rows ──")
    await screen.sees("esc closes")


KEYS = (
    *(("\x1b[A", "up"), ("\x1b[B", "down"), ("\x1b[C", "right"), ("\x1bOD", "left"), ("\r", "enter")),
    *(("\t", "tab"), ("\x7f", "backspace"), ("\x1b[3~", "delete"), ("\x1b[H", "home"), ("\x1b[4~", "end")),
    *(("\x1b[5~", "pageup"), ("\x1b[6~", "pagedown"), ("é", "rune:é"), (" ", "rune: "), ("\x1b[15~", "unknown")),
)


async def test_each_key_reaches_the_panel_under_its_name(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await opened(screen)
        for typed, key in KEYS:
            await screen.type(typed)
            await screen.sees(f"last {key}".rstrip())
        await screen.type(ESC)
        await leaves(screen, tmp_path)


async def test_of_a_panel_that_is_longer_than_the_terminal_the_title_is_there(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    panel = {"id": "p", "title": "Long", "lines": [f"row {n}" for n in range(80)]}
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.line(do(answer={"action": "open_panel", "open_panel": panel}))
        await screen.sees("more lines")
        await screen.sees("── Long ──")
        await screen.type(ESC)
        await leaves(screen, tmp_path)


@pytest.mark.parametrize("key", [ESC, CTRL_C])
async def test_esc_and_ctrl_c_close_the_panel_and_its_owner_hears_no_key(tmp_path: Path, key: str) -> None:
    panel_extension(installed(tmp_path))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await opened(screen)
        await screen.type("\x1b[B")
        await screen.sees("* row 1")
        await screen.type(key)
        await screen.line("/heard")
        await screen.sees("[panel] last closed rows")
        await leaves(screen, tmp_path)
    assert "Ctrl-C again" not in screen.shown


async def test_the_owner_closes_its_panel_and_the_prompt_is_back(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_chat(tmp_path, says("Hello.")) as (_server, screen):
        await opened(screen)
        await screen.type("x")
        await screen.line("hello")
        await screen.sees("Hello.")
        await leaves(screen, tmp_path)


async def test_a_displaced_panel_is_closed_and_the_other_one_takes_the_keys(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await opened(screen)
        await screen.type("!")
        await screen.sees("Other ──")
        await screen.type(ESC)
        await screen.line("/heard")
        await screen.sees("[panel] last closed other")
        await leaves(screen, tmp_path)


async def test_a_message_submitted_from_a_panel_is_answered_and_the_panel_is_there_again(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_chat(tmp_path, says("Noted.")) as (server, screen):
        await opened(screen)
        await screen.type("s")
        await screen.sees("[panel] from the panel")
        await screen.sees("Noted.")
        await screen.sees("esc closes")
        await screen.type("k")
        await screen.sees("last rune:k")
        await screen.type(ESC)
        await leaves(screen, tmp_path)
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["from the panel"]


async def test_ctrl_d_in_a_panel_is_a_key_and_sigterm_ends_it_cleanly(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await opened(screen)
        await screen.type(CTRL_D)
        await screen.sees("last unknown")
        screen.process.terminate()
        assert await screen.ends() == 0
    await none_left(tmp_path)


async def test_what_an_extension_displays_has_its_colours_and_nothing_else_that_a_terminal_obeys(
    tmp_path: Path,
) -> None:
    text = "\x1b[1;32mgreen\x1b[0m \x1b[2J\x1b]0;title\x07\x1b[8mseen"
    _speaker(tmp_path, text)
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.line("/speak")
        await screen.sees("[speaker] green seen")
        await leaves(screen, tmp_path)
    assert "\x1b[1;32mgreen\x1b[0m seen" in screen.raw
    ended = await run(tmp_path, "chat", stdin=b"/speak\n")
    assert b"[speaker] green seen" in ended.stdout


async def test_a_note_that_comes_at_the_prompt_stands_above_what_is_typed(tmp_path: Path) -> None:
    """The extension speaks when the folder gets a file: nobody has asked it anything."""
    _waker(tmp_path, {"type": "notify", "level": "info", "message": "the build is done"})
    async with open_chat(tmp_path, says("Hello.")) as (server, screen):
        await screen.sees(PROMPT)
        await screen.type("hel")
        await screen.sees("hel")
        (tmp_path / "wake").touch()
        await screen.sees("[waker] the build is done")
        await screen.stands(WINDOW, lambda rows: rows[-1:] == ["> hel"])
        await screen.type("lo\r")
        await screen.sees("Hello.")
        await leaves(screen, tmp_path)
    assert server.requests[0].body["messages"][-1]["content"] == "hello"


async def test_a_message_submitted_at_the_prompt_is_answered_and_what_was_typed_stays(tmp_path: Path) -> None:
    _waker(tmp_path, {"type": "submit", "text": "wake up"})
    async with open_chat(tmp_path, says("Awake."), says("Hello.")) as (server, screen):
        await screen.sees(PROMPT)
        await screen.type("hel")
        await screen.sees("hel")
        (tmp_path / "wake").touch()
        await screen.sees("Awake.")
        await screen.stands(WINDOW, lambda rows: rows[-1:] == ["> hel"])
        await screen.type("lo\r")
        await screen.sees("Hello.")
        await leaves(screen, tmp_path)
    assert [it.body["messages"][-1]["content"] for it in server.requests] == ["wake up", "hello"]


async def test_what_stood_at_the_prompt_before_a_question_is_no_answer_to_it(tmp_path: Path) -> None:
    """The person has typed "y", meaning something else, when an extension's message leads to a question."""
    _waker(tmp_path, {"type": "submit", "text": "go"})
    rule = '[[approvals]]\ntools = ["bash"]\n'
    wanted = calls(("1", "bash", '{"command": "touch made"}'))
    async with open_chat(tmp_path, wanted, says("I may not."), more=rule) as (_server, screen):
        await screen.sees(PROMPT)
        await screen.type("y")
        await screen.sees("y")
        (tmp_path / "wake").touch()
        await screen.sees("allow? [y]es once, [s]ession, [n]o:")
        await screen.type("n\r")
        await screen.sees("I may not.")
        await screen.stands(WINDOW, lambda rows: rows[-1:] == ["> y"])
        # The prompt is not drawn again for that.
        await screen.type("\x7f/quit\r")
        assert await screen.ends() == 0
    await none_left(tmp_path)
    assert not (tmp_path / "made").exists()


async def test_a_panel_that_opens_at_the_prompt_takes_the_keys_after_enter(tmp_path: Path) -> None:
    panel = {"id": "p", "title": "Sudden", "lines": ["here"]}
    _waker(tmp_path, {"type": "open_panel", "panel": panel})
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.sees(PROMPT)
        (tmp_path / "wake").touch()
        await screen.sees("Enter sends what is typed and goes there")
        await screen.line("")
        await screen.sees("esc closes")
        await screen.type(ESC)
        await screen.line("/seen")
        await screen.sees("[waker] seen panel_close")
        await leaves(screen, tmp_path)


@pytest.mark.parametrize("empties", [CTRL_U, CTRL_C, "\x7f\x7f\x7f"])
async def test_a_panel_that_opens_while_one_types_takes_the_keys_once_the_line_is_empty(
    tmp_path: Path, empties: str
) -> None:
    _waker(tmp_path, {"type": "open_panel", "panel": {"id": "p", "title": "Sudden", "lines": ["here"]}})
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.sees(PROMPT)
        await screen.type("hel")
        await screen.sees("hel")
        (tmp_path / "wake").touch()
        await screen.sees("Enter sends what is typed and goes there")
        await screen.type(empties)
        await screen.sees("esc closes")
        await screen.type(ESC)
        await screen.line("/seen")
        await screen.sees("[waker] seen panel_close")
        await leaves(screen, tmp_path)


async def test_inserted_text_stands_in_the_editor(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext")
    async with open_chat(tmp_path, says("Done.")) as (server, screen):
        await screen.line(do(answer={"action": "insert", "insert": "please "}))
        await screen.sees("> please ")
        await screen.type("go on\r")
        await screen.sees("Done.")
        await leaves(screen, tmp_path)
    assert server.requests[0].body["messages"][-1]["content"] == "please go on"


async def test_tab_completes_a_command_of_an_extension(tmp_path: Path) -> None:
    extension(installed(tmp_path), "ext", command("summon"))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.line("/summ\tthe daemon")
        await screen.sees("[ext] summon the daemon")
        await leaves(screen, tmp_path)


async def test_ctrl_c_ends_the_wait_for_a_silent_command(tmp_path: Path) -> None:
    panel_extension(installed(tmp_path))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.line("/hang")
        await screen.sees("[panel] thinking")
        await screen.type(CTRL_C)
        await screen.sees("Stopped.")
        await leaves(screen, tmp_path)


# --- trust --------------------------------------------------------------------------------------------------


async def test_a_projects_extension_runs_after_a_yes_that_counts_until_it_changes(tmp_path: Path) -> None:
    directory = extension(project(tmp_path), "ext", command("brought"), description="two\nlines")
    folder = configured(tmp_path, NOWHERE)
    async with open_terminal(folder, "chat") as screen:
        await screen.sees("? Run the extension ext of this project? It is a program, and runs as you.")
        await screen.sees("  folder:\n")
        await screen.sees(str(directory)[-30:])
        await screen.sees("  command:\n| ")
        await screen.sees("[y/N]")
        await screen.type("y\r")
        await screen.line("/brought x")
        await screen.sees("[ext] brought x")
        await leaves(screen, tmp_path)
    async with open_terminal(folder, "chat") as screen:
        await screen.line("/brought again")
        await screen.sees("[ext] brought again")
        await leaves(screen, tmp_path)
        assert "Run it?" not in screen.shown
    (directory / "more.py").touch()
    async with open_terminal(folder, "chat") as screen:
        await screen.sees("of this project once more, since it has changed?")
        await screen.sees("[y/N]")
        await screen.type("\r")
        await screen.sees("has changed since it was trusted")
        await screen.line("/brought x")
        await screen.sees("There is no command /brought")
        await leaves(screen, tmp_path)


async def test_a_yes_typed_before_the_window_is_made_narrower_is_one(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext", command("brought"))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat", size=SIZE) as screen:
        await screen.sees("? Run the extension ext of this project? It is a program, and runs as you.")
        await screen.sees("[y/N]")
        await screen.type("y")
        await screen.stands(SIZE, lambda rows: rows[-1].endswith("[y/N] y"))
        screen.resize(40, 50)
        await screen.sees("? Run the extension ext of this project? It is")
        await screen.stands((40, 50), lambda rows: rows[-1].endswith("[y/N] y"))
        await screen.type("\r")
        await screen.line("/brought x")
        await screen.sees("[ext] brought x")
        await leaves(screen, tmp_path)


async def test_a_reload_asks_about_what_has_come_meanwhile(tmp_path: Path) -> None:
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.sees(PROMPT)
        extension(project(tmp_path), "ext", command("brought"))
        await screen.type("/reload-ext\r")
        await screen.sees("[y/N]")
        await screen.type("no\r")
        await screen.sees("· Extensions: none.")
        await screen.line("/reload-ext")
        await screen.sees("[y/N]")
        await screen.type("y\r")
        await screen.sees("· Extensions: ext.")
        await leaves(screen, tmp_path)


def asked_again(told: str) -> Callable[[list[str]], bool]:
    """The whole question stands below what was told."""

    def holds(rows: list[str]) -> bool:
        begins = [n for n, row in enumerate(rows) if row.startswith("? Run the extension")]
        return bool(begins) and rows[-1].endswith("[y/N]") and any(told in row for row in rows[: begins[-1]])

    return holds


def undecided(rows: list[str]) -> bool:
    return rows[-1].endswith("[y/N]") and any('"maybe" is none of the answers' in row for row in rows)


async def test_what_answers_no_question_decides_nothing_at_the_start_either(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext", command("brought"))
    async with open_terminal(configured(tmp_path, NOWHERE), "chat", size=SIZE) as screen:
        await screen.sees("[y/N]")
        await screen.type("maybe\r")
        await screen.stands(SIZE, undecided)
        await screen.type("/tools\r")
        await screen.stands(SIZE, asked_again("this waits for the answer"))
        await screen.type("y\r")
        await screen.sees("  write ")
        await screen.line("/brought x")
        await screen.sees("[ext] brought x")
        await leaves(screen, tmp_path)


async def test_who_leaves_at_the_question_has_agreed_to_nothing(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    folder = configured(tmp_path, NOWHERE)
    for _ in range(2):
        async with open_terminal(folder, "chat") as screen:
            await screen.sees("[y/N]")
            await screen.type("/quit\r")
            assert await screen.ends() == 0
    assert not (tmp_path / ".local/state/zot/logs").exists()
    await none_left(tmp_path)


async def test_a_command_acts_at_the_question_of_a_reload_and_is_no_answer(tmp_path: Path) -> None:
    async with open_terminal(configured(tmp_path, NOWHERE), "chat", size=SIZE) as screen:
        await screen.sees(PROMPT)
        extension(project(tmp_path), "ext", command("brought"))
        await screen.type("/reload-ext\r")
        await screen.sees("[y/N]")
        await screen.type("/whoami\r")
        await screen.stands(SIZE, asked_again("You are cli:user"))
        await screen.type("maybe\r")
        await screen.stands(SIZE, undecided)
        await screen.type("/stop\r")
        await screen.sees("Stopped.")
        await screen.line("/reload-ext")
        await screen.sees("[y/N]")
        await screen.type("y\r")
        await screen.sees("· Extensions: ext.")
        await leaves(screen, tmp_path)


async def test_the_end_of_input_at_the_question_is_a_no(tmp_path: Path) -> None:
    extension(project(tmp_path), "ext")
    async with open_terminal(configured(tmp_path, NOWHERE), "chat") as screen:
        await screen.sees("[y/N]")
        await screen.type(CTRL_D)
        await screen.line("/quit")
        assert await screen.ends() == 0
    assert not (tmp_path / ".local/state/zot/logs").exists()


def _waker(folder: Path, frame: dict[str, object]) -> None:
    """An extension that sends this frame by itself when the file `wake` is there."""
    directory = installed(folder) / "waker"
    directory.mkdir(parents=True)
    (directory / "waker.py").write_text(WAKER.format(frame=frame, wake=str(folder / "wake")))
    (directory / "extension.json").write_text('{"name": "waker", "exec": "python3", "args": ["waker.py"]}')


def _speaker(folder: Path, text: str) -> None:
    """An extension whose command `speak` displays this."""
    directory = installed(folder) / "speaker"
    directory.mkdir(parents=True)
    (directory / "speaker.py").write_text(SPEAKER.format(text=text))
    (directory / "extension.json").write_text('{"name": "speaker", "exec": "python3", "args": ["speaker.py"]}')


SPEAKER = """
import json, sys

def say(**frame):
    print(json.dumps(frame), flush=True)

say(type="hello", name="speaker", version="1")
say(type="register_command", name="speak")
say(type="ready")
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        say(type="command_response", id=frame["id"], action="display", display={text!r})
"""


WAKER = """
import json, os, sys, threading, time

def say(**frame):
    os.write(1, json.dumps(frame).encode() + b"\\n")

def wake():
    while not os.path.exists({wake!r}):
        time.sleep(0.01)
    say(**{frame!r})

say(type="hello", name="waker", version="1")
say(type="register_command", name="seen")
say(type="ready")
threading.Thread(target=wake, daemon=True).start()
seen = ""
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        say(type="command_response", id=frame["id"], action="display", display="seen " + seen)
    seen = frame["type"]
"""
