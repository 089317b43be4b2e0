"""Which keyboard there is, and the terminal as it was when that is left, however that comes about."""

from __future__ import annotations

import os
import select
import signal
import sys
import termios
import threading
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager, nullcontext
from functools import partial
from time import sleep
from typing import Any

import trio

from hookgate import config as configuration
from hookgate.cli.printing import write
from hookgate.cli.terminal.keyboard.edited import EditedKeyboard
from hookgate.cli.terminal.keyboard.keyboard import Keyboard
from hookgate.cli.terminal.keyboard.plain import READ_BYTES, open_plain
from hookgate.cli.terminal.person.seat import open_seat

LEAVE_S = 2.0
"""For the editor to give the terminal back; one that does not take what is written to it keeps it waiting."""
STOP_S = 0.3
MARK_PASTES, MARK_NONE = "\x1b[?2004h", "\x1b[?2004l"
_INPUT_MODES, _LOCAL_MODES = 0, 3
"""Their places in what tcgetattr returns."""


@asynccontextmanager
async def open_keyboard() -> AsyncGenerator[Keyboard]:
    """With editing where there is a terminal that can have it. Leaving gives the terminal back as it was."""
    shown = sys.stdout.isatty()
    if not (sys.stdin.isatty() and shown and configuration.terminal_type() != "dumb"):
        with open_seat() if sys.stdin.isatty() and not shown else nullcontext() as seat:
            async with open_plain(seat) as plain:
                yield plain
        return
    with _quiet() as (ahead, before):
        threads: list[threading.Thread] = []

        def start(keyboard: EditedKeyboard) -> None:
            threads.append(threading.Thread(target=partial(_run, keyboard), daemon=True, name="keyboard"))
            threads[0].start()

        keyboard = EditedKeyboard(ahead, before, configuration.history_file(), start)
        try:
            yield keyboard
        finally:
            keyboard.leave()
            with trio.CancelScope(shield=True):
                for thread in threads:
                    await trio.to_thread.run_sync(thread.join, LEAVE_S)
            keyboard.screen.close()


def _run(keyboard: EditedKeyboard) -> None:
    """In its own thread, and imported there: a third of what all else takes to start."""
    from hookgate.cli.terminal.keyboard.editor.editor import run_editor

    run_editor(keyboard, configuration.terminal_type())


@contextmanager
def _quiet() -> Generator[tuple[str, list[Any]]]:
    """What is typed before the line is there is seen in it, and Enter is Enter. Yields what was typed so far,
    and how the terminal was."""
    before = termios.tcgetattr(0)
    quiet = termios.tcgetattr(0)
    quiet[_INPUT_MODES] &= ~termios.ICRNL
    quiet[_LOCAL_MODES] &= ~(termios.ICANON | termios.ECHO)
    termios.tcsetattr(0, termios.TCSADRAIN, quiet)
    try:
        waits = select.select([0], [], [], 0)[0]
        ahead = os.read(0, READ_BYTES).decode("utf-8", "replace").replace("\n", "\r") if waits else ""
        # Before anything stands there at which somebody could paste.
        write(MARK_PASTES)
        yield ahead, before
    finally:
        _give_back(before)


def _give_back(before: list[Any]) -> None:
    try:
        write(MARK_NONE)
        termios.tcsetattr(0, termios.TCSADRAIN, before)
    except (OSError, termios.error):
        # A terminal that was closed takes nothing any more: what is still held for it would be an error at the end.
        nowhere = os.open(os.devnull, os.O_WRONLY)
        for descriptor in (1, 2):
            if os.fstat(descriptor).st_rdev == os.fstat(0).st_rdev:
                os.dup2(nowhere, descriptor)


def stop() -> None:
    """This program and those with it, until `fg`. Returns in no thread before that."""
    os.kill(0, signal.SIGTSTP)
    # The process stops a moment later.
    sleep(STOP_S)
