"""The terminal of a conversation, with whoever sits at its keyboard."""

from __future__ import annotations

import fcntl
import termios
from contextlib import suppress
from functools import partial

import trio

from hookgate import config as configuration
from hookgate.channels.terminal.channel import Terminal
from hookgate.channels.terminal.dialogue import WHOLE, Console, Viewed
from hookgate.cli.printing import screen_size
from hookgate.cli.terminal.keyboard import Keyboard
from hookgate.cli.terminal.person.pager import view

PASSED_S, LOOK_S, SHOWN_S = 1.0, 0.02, 0.1


def seated(keyboard: Keyboard, *, piped: bool = False, plain: bool = False) -> Terminal:
    """The terminal with whoever sits at the keyboard. `piped`: lines of what is no terminal answer questions too.
    `plain`: answers are shown as they were written."""
    seat, read = keyboard.seat, keyboard.person and keyboard.seat is None

    async def ask(prompt: str) -> str | None:
        try:
            return await keyboard.ask(prompt)
        except EOFError:
            return None

    def size() -> tuple[int, int]:
        columns, rows = screen_size()
        return columns, rows if read else WHOLE

    async def view_text(text: str) -> Viewed:
        async with keyboard.lent():
            return await view(text)

    console = None
    if seat is not None:
        viewing = partial(view, screen=seat.descriptor)
        console = Console(seat.write, ask, seat.redraw, seat.size, viewing, passed_on)
    elif keyboard.person or piped:
        console = Console(keyboard.screen.write, ask, keyboard.redraw, size, view_text if read else None)
    rendered = keyboard.screen.live and not plain and configuration.wants_colour()
    return Terminal(keyboard.screen, console, size, rendered=rendered)


async def passed_on() -> None:
    """What was written to a pipe has been read, and whoever did so had a moment to show it."""
    with trio.move_on_after(PASSED_S), suppress(OSError):
        while any(fcntl.ioctl(1, termios.FIONREAD, bytes(4))):  # noqa: ASYNC110 - nothing else tells
            await trio.sleep(LOOK_S)
    await trio.sleep(SHOWN_S)
