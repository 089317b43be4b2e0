"""The screen above the input line, as the loop sees it: what is to be drawn, until the editor's thread draws it."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from hookgate.cli.printing import write

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.editor.editor import Editor

    Act = Callable[[Editor], None]

ERASE_LINE = "\r\x1b[K"


class Posts:
    """Work for the editor's thread, from any other one, in order: what comes before that is there waits for it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: list[Act] = []
        self._post: Callable[[Act], None] | None = None

    def __call__(self, act: Act) -> None:
        with self._lock:
            if self._post is None:
                self._waiting.append(act)
            else:
                self._post(act)

    def begin(self, post: Callable[[Act], None]) -> None:
        with self._lock:
            for act in self._waiting:
                post(act)
            self._post = post


class LiveScreen:
    """Until the editor is there finished text is written at once, above the prompt that stands there for it; then the
    editor is told once of all that has come since it took what was there."""

    live = shows = True

    def __init__(self, posts: Posts) -> None:
        self._cleared = False
        self._posts = posts
        self._lock = threading.Lock()
        self._finished: list[str] = []
        self._instead = ""
        self._region = ""
        self._asked = self._begun = self._over = False
        self._standing = ""

    def stand(self, prompt: str) -> None:
        """Where the editor will draw it as well."""
        self._standing = prompt
        write(prompt)

    def begin(self) -> None:
        """The editor draws from here on."""
        with self._lock:
            self._begun = True
            write(ERASE_LINE if self._standing else "")

    def write(self, text: str) -> None:
        with self._lock:
            if self._over:
                _write_last(text)
                return
            if not self._begun:
                write(f"{ERASE_LINE if self._standing else ''}{text}{self._standing}")
                return
            self._finished.append(text)
        self._stir()

    def replace(self, old: str, new: str) -> None:
        """Finished text instead of that, if nothing was written after it."""
        with self._lock:
            self._instead = "" if self._finished else old
        self.write(new)

    def show(self, text: str) -> None:
        self._region = text
        self._stir()

    def clear(self) -> None:
        with self._lock:
            self._finished.clear()
            self._cleared = True
        self._stir()

    def _stir(self) -> None:
        if not self._asked:
            self._asked = True
            self._posts(lambda editor: editor.draw())

    def take(self) -> tuple[bool, str, str, str]:
        """Whether all is to be cleared first; what is to go, if it was drawn last; whole lines that are to go above;
        the live region."""
        with self._lock:
            cleared, old = self._cleared, self._instead
            self._asked = self._cleared = False
            self._instead = ""
            return cleared, old, self._lines(), self._region

    def _lines(self) -> str:
        text = "".join(self._finished)
        self._finished.clear()
        return text if text.endswith("\n") or not text else f"{text}\n"

    def close(self) -> None:
        """Nobody draws any more: what was not drawn is written as it is, and so is all that comes."""
        with self._lock:
            self._over = True
            _write_last(self._lines())


def _write_last(text: str) -> None:
    # A terminal may be gone by now.
    with suppress(OSError):
        write(text)
