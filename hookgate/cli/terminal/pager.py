"""A long text in the person's own pager, which has the terminal for itself meanwhile."""

from __future__ import annotations

import os
import signal
import termios
from collections.abc import Generator
from contextlib import contextmanager
from shutil import which

import trio

from hookgate import config as configuration

_CONTROL_CHARACTERS = 6
"""Their place in what tcgetattr returns."""


async def view(text: str, screen: int = 1) -> bool:
    """Until the pager is left; False where there is none, or it failed. Whoever cancels this ends it. `screen`: the
    descriptor of the terminal."""
    words, environment = configuration.pager()
    if not words or which(words[0], path=environment.get("PATH")) is None:
        return False
    with _keys_are_the_pagers(screen):
        try:
            said = text.encode("utf-8", "replace")
            ended = await trio.run_process(words, stdin=said, stdout=screen, check=False, env=environment)
        except OSError:
            return False
    return ended.returncode == 0


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
