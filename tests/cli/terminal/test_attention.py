"""Which question an answer is for: the one that was seen when it was typed, and no other."""

from __future__ import annotations

import os
import pty
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, cast

import pytest
import trio
import trio.testing

from hookgate.cli.terminal.keyboard.edited import EditedKeyboard, LineQuestion
from hookgate.cli.terminal.keyboard.editor import attention
from hookgate.cli.terminal.keyboard.editor.editor import run_editor
from tests.processes import until

DEADLINE_S = 30


class _Editor:
    """What the loop's side tells an editor of questions."""

    def __init__(self) -> None:
        self.asks: list[LineQuestion] = []

    def ask(self, question: LineQuestion) -> None:
        self.asks.append(question)

    def asked(self, _question: LineQuestion) -> None:
        pass

    def draw(self) -> None:
        pass


async def test_an_answer_to_a_question_that_is_over_is_none_to_the_next(tmp_path: Path) -> None:
    editor, answers = _Editor(), list[str]()
    keyboard = EditedKeyboard("", [], tmp_path / "history", lambda _keyboard: None)
    keyboard.screen.begin()
    keyboard.posts.begin(lambda act: act(cast("Any", editor)))

    async def ask(prompt: str, task_status: trio.TaskStatus[trio.CancelScope] = trio.TASK_STATUS_IGNORED) -> None:
        with trio.CancelScope() as scope:
            task_status.started(scope)
            answers.append(await keyboard.ask(prompt))

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            scope = await nursery.start(ask, "first? ")
            await trio.testing.wait_all_tasks_blocked()
            scope.cancel()
            await trio.testing.wait_all_tasks_blocked()
            nursery.start_soon(ask, "second? ")
            await trio.testing.wait_all_tasks_blocked()
            first, second = editor.asks
            keyboard.on_answer(first, "y")
            await trio.testing.wait_all_tasks_blocked()
            assert not answers
            keyboard.on_answer(second, "n")
    assert answers == ["n"]
    assert keyboard.screen.take()[2] == '· "y" came when its question was over, and answers no other\n'


@contextmanager
def terminal(monkeypatch: pytest.MonkeyPatch) -> Generator[tuple[int, bytearray]]:
    """stdin and stdout are one, whose other side this is, and what it has shown."""
    ours, theirs = pty.openpty()
    shown = bytearray()
    reading = threading.Thread(target=_read, args=[ours, shown], daemon=True)
    with open(theirs) as stdin, open(theirs, "w", closefd=False) as stdout:
        monkeypatch.setattr(sys, "stdin", stdin)
        monkeypatch.setattr(sys, "stdout", stdout)
        reading.start()
        yield ours, shown
    reading.join(DEADLINE_S)
    os.close(ours)


def _read(descriptor: int, shown: bytearray) -> None:
    # A terminal whose last user has gone says so with an error.
    with suppress(OSError):
        while data := os.read(descriptor, 65536):
            shown += data


async def test_keys_are_for_the_message_until_the_question_was_drawn_and_the_typing_has_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(attention, "QUIET_S", 1000.0)
    keyboard = EditedKeyboard("", [], tmp_path / "history", lambda _keyboard: None)
    keyboard.prompt = lambda: "> "
    editing = threading.Thread(target=run_editor, args=[keyboard, "xterm"], daemon=True)
    answers: list[str] = []

    async def ask() -> None:
        answers.append(await keyboard.ask("allow? "))

    with trio.fail_after(DEADLINE_S), terminal(monkeypatch) as (person, shown):
        editing.start()
        async with trio.open_nursery() as nursery:
            os.write(person, b"wh")
            await until(lambda: keyboard.line() == "wh")
            keyboard.screen.write("Run rm?\n")
            nursery.start_soon(ask)
            await until(lambda: b"Run rm?" in shown)
            os.write(person, b"y\r")
            assert await keyboard.read() == "why"
            assert b"allow?" not in shown
            assert not answers
            # The last key before the pause.
            monkeypatch.setattr(attention, "QUIET_S", 0.0)
            os.write(person, b"x")
            await until(lambda: b"allow?" in shown)
            os.write(person, b"n\r")
        assert (answers, keyboard.line()) == (["n"], "x")
        keyboard.leave()
        await trio.to_thread.run_sync(editing.join, DEADLINE_S)


async def test_no_line_stands_below_a_panel_that_says_that_it_takes_the_keys(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    keyboard = EditedKeyboard("", [], tmp_path / "history", lambda _keyboard: None)
    keyboard.prompt = lambda: "message: "
    editing = threading.Thread(target=run_editor, args=[keyboard, "xterm"], daemon=True)
    with trio.fail_after(DEADLINE_S), terminal(monkeypatch) as (person, shown):
        # All of it waits for the editor, which draws what is there by then.
        keyboard.screen.show("Rows")
        with keyboard.keys() as keys:
            keyboard.screen.show("Rows, esc closes")
            editing.start()
            await until(lambda: b"esc closes" in shown)
            os.write(person, b"x")
            assert await keys.receive() == ("rune", "x")
            assert b"message:" not in shown.partition(b"esc closes")[2]
        await until(lambda: b"message:" in shown.partition(b"esc closes")[2])
        keyboard.leave()
        await trio.to_thread.run_sync(editing.join, DEADLINE_S)
