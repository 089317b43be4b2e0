"""When keys are for a question: once it has been drawn and whoever was typing has stopped. Until then they are for
the message, so nothing that was typed without the question in sight answers it. They are for it until its answer is
ended, however long it has been over. Knows no keys and no screen.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

from hookgate.cli.terminal.keyboard.edited import LineQuestion

OVER = "  (over) "
"""Its prompt from then on."""
QUIET_S = 0.3
"""Without a key since the question was drawn, or since the last one."""


class Timer(Protocol):
    def cancel(self) -> None: ...


Later = Callable[[float, Callable[[], None]], Timer]
"""Calls something after so many seconds, in the editor's thread."""


class Attention:
    """`read`: has the keys processed that have come by now. `begin`: from here on keys are for the question; False
    where it cannot be seen now, and is drawn again later."""

    def __init__(self, later: Later, read: Callable[[], None], begin: Callable[[], bool]) -> None:
        self._later, self._read, self._begin = later, read, begin
        self._asked: LineQuestion | None = None
        self._next: LineQuestion | None = None
        """It waits until the answer to the one before is ended."""
        self.late = False
        """The question is over for which an answer is typed."""
        self._quiet: Timer | None = None
        self._has = False

    @property
    def question(self) -> LineQuestion | None:
        """The one that keys are for."""
        return self._asked if self._has else None

    def ask(self, question: LineQuestion) -> None:
        if self.late:
            self._next = question
        else:
            self.end()
            self._asked = question

    def drawn(self) -> None:
        """All that was to be shown by now stands there."""
        if self._asked is not None and not self._has and self._quiet is None:
            self._quiet = self._later(QUIET_S, self._stopped)

    def typed(self, _key: object) -> None:
        """A key came."""
        if self._quiet is not None:
            self._quiet.cancel()
            self._quiet = self._later(QUIET_S, self._stopped)

    def _stopped(self) -> None:
        waited = self._quiet
        self._read()
        if self._quiet is waited:
            self._quiet = None
            self._has = True
            self._has = self._begin()

    def over(self, question: LineQuestion, *, typing: bool) -> bool:
        """Whether keys are for the message again: not while an answer to it is half typed."""
        if question is self._next:
            self._next = None
        if question is not self._asked:
            return False
        self.late = typing and self._has
        if self.late:
            question.prompt = OVER
        return not self.late

    def end(self) -> None:
        """The next one, if there is one, is to be drawn now."""
        if self._quiet is not None:
            self._quiet.cancel()
        self._asked, self._next, self._quiet = self._next, None, None
        self._has = self.late = False
