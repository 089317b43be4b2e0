"""Where the log goes while somebody types: above the prompt, so that no line of it lands in theirs."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager

import trio

Show = Callable[[str], None]


class PromptLogs:
    """A stream of text lines for the log: stderr, but inside `above` what it is given."""

    def __init__(self) -> None:
        self._show: Show | None = None
        self._begun = ""

    @property
    def on_screen(self) -> bool:
        """Whether whoever reads the chat reads the log beside it."""
        return sys.stderr.isatty()

    @property
    def at_prompt(self) -> bool:
        """Lines go above one."""
        return self._show is not None

    def write(self, text: str) -> int:
        if self._show is None:
            return sys.stderr.write(text)
        *lines, self._begun = (self._begun + text).split("\n")
        for line in lines:
            self._show(line)
        return len(text)

    def flush(self) -> None:
        if self._show is None:
            sys.stderr.flush()

    @contextmanager
    def above(self, show: Show) -> Generator[None]:
        """Lines go to `show`, in this thread: what others log comes when the loop is next there."""
        self._show = _here(show)
        try:
            yield
        finally:
            self._show, self._begun = None, ""


def _here(show: Show) -> Show:
    token, home = trio.lowlevel.current_trio_token(), threading.get_ident()

    def shown(line: str) -> None:
        if threading.get_ident() == home:
            show(line)
        else:
            token.run_sync_soon(show, line)

    return shown
