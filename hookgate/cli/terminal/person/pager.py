"""A long text in the person's own pager, which has the terminal for itself meanwhile."""

from __future__ import annotations

import fcntl
import os
import signal
import termios
from collections import deque
from collections.abc import Generator
from contextlib import contextmanager
from shutil import which

import trio

from hookgate import config as configuration
from hookgate.channels.terminal.dialogue import Viewed

_CONTROL_CHARACTERS = 6
"""Their place in what tcgetattr returns."""


async def view(text: str, screen: int = 1) -> Viewed:
    """Until the pager is left. Whoever cancels this ends it. `screen`: the descriptor of the terminal."""
    words, environment = configuration.pager()
    if not words or which(words[0], path=environment.get("PATH")) is None:
        return Viewed.NOT
    rows = deque(text.encode("utf-8", "replace").splitlines(keepends=True))
    with _keys_are_the_pagers(screen), _row_by_row() as (taken, given):
        try:
            async with trio.open_nursery() as nursery:
                nursery.start_soon(_feed, rows, given)
                ended = await trio.run_process(words, stdin=taken, stdout=screen, check=False, env=environment)
                nursery.cancel_scope.cancel()
        except* OSError:
            ended = None
        left = rows or any(fcntl.ioctl(taken, termios.FIONREAD, bytes(4)))
    if ended is None or ended.returncode != 0:
        return Viewed.NOT
    return Viewed.PART if left else Viewed.WHOLE


@contextmanager
def _row_by_row() -> Generator[tuple[int, int]]:
    """A pipe of which each read takes one row: what a pager has read it has shown, and not a block beyond."""
    taken, given = os.pipe()
    fcntl.fcntl(given, fcntl.F_SETFL, os.O_WRONLY | getattr(os, "O_DIRECT", 0))
    try:
        yield taken, given
    finally:
        os.close(taken)


async def _feed(rows: deque[bytes], given: int) -> None:
    async with trio.lowlevel.FdStream(given) as stream:
        while rows:
            await stream.send_all(rows.popleft())


@contextmanager
def _keys_are_the_pagers(screen: int) -> Generator[None]:
    """Ctrl-C is, and is passed over here: trio's receiver would hand on afterwards what nobody took from it. Ctrl-Z
    stops nobody: a secure less ignores the signal, and would read the keys beside the shell."""
    before = termios.tcgetattr(screen)
    without = termios.tcgetattr(screen)
    without[_CONTROL_CHARACTERS][termios.VSUSP] = os.fpathconf(screen, "PC_VDISABLE").to_bytes()
    handler = signal.signal(signal.SIGINT, lambda _number, _frame: None)
    termios.tcsetattr(screen, termios.TCSADRAIN, without)
    try:
        yield
    finally:
        termios.tcsetattr(screen, termios.TCSADRAIN, before)
        signal.signal(signal.SIGINT, handler)
