"""A long text in the person's own pager, which has the terminal for itself meanwhile."""

from __future__ import annotations

import signal
from shutil import which

import trio

from hookgate import config as configuration


async def view(text: str, screen: int = 1) -> bool:
    """Until the pager is left; False where there is none, or it failed. Whoever cancels this ends it. `screen`: the
    descriptor of the terminal."""
    words, environment = configuration.pager()
    if not words or which(words[0], path=environment.get("PATH")) is None:
        return False
    # Ctrl-C in a pager is the pager's.
    with trio.open_signal_receiver(signal.SIGINT):
        try:
            said = text.encode("utf-8", "replace")
            ended = await trio.run_process(words, stdin=said, stdout=screen, check=False, env=environment)
        except OSError:
            return False
    return ended.returncode == 0
