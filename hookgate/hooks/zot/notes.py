"""How many of an extension's notes people are shown: a flood of them is a few, and a line that counts the rest."""

from __future__ import annotations

from collections.abc import Callable
from time import monotonic

from hookgate.processes.deadlines import Deadlines
from hookgate.protocol.chat import Chat
from hookgate.protocol.zot.frames import Level

Show = Callable[[Level, str, Chat | None], None]

MAX_SHOWN, WITHIN_S = 200, 5.0


class Notes:
    """So many within so many seconds of the first; then `show` has how many more there were, where the last of them
    belongs."""

    def __init__(self, show: Show, deadlines: Deadlines) -> None:
        self._show, self._deadlines = show, deadlines
        self._until = 0.0
        self._seen = 0
        self._chat: Chat | None = None

    def take(self, level: Level, text: str, chat: Chat | None) -> None:
        if not self._seen:
            self._until = monotonic() + WITHIN_S
            self._deadlines.watch(self)
        self._seen += 1
        if self._seen <= MAX_SHOWN:
            self._show(level, text, chat)
        else:
            self._chat = chat

    def expire(self, now: float) -> bool:
        if now >= self._until:
            self._count()
        return self._seen > 0

    def end(self) -> None:
        """No more will come."""
        self._deadlines.forget(self)
        self._count()

    def _count(self) -> None:
        more, self._seen = self._seen - MAX_SHOWN, 0
        if more > 0:
            notes = "note was" if more == 1 else "notes were"
            self._show("warn", f"{more} more {notes} left out: it sent too many in {WITHIN_S:g} s", self._chat)
