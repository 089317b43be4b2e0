"""What people have read of a reply that broke off, beside the reply that comes in its place: each text is read once.

Knows neither calls nor secrets: what it is given may be seen.
"""

from __future__ import annotations

from collections.abc import Callable


class Resumed:
    """`tell` gets what is new to whoever reads, and None where what they have read is void after all.

    A reply that is asked for again often begins as the one before it did: as long as it does, nothing is told.
    """

    def __init__(self, tell: Callable[[str | None], None]) -> None:
        self._tell = tell
        self._said: list[str] = []
        # What was read of the reply that broke off, and up to where this one has said the same.
        self._before, self._at = "", 0
        self._anew = False

    def begin_again(self, *, anew: bool) -> None:
        """`anew`: more than text was read of the reply, so that the next one is told from its beginning, once there
        is one: until then all that was read counts."""
        self._before = self._before or "".join(self._said)
        self._anew = self._anew or anew
        self._said, self._at = [], 0

    def say(self, text: str) -> None:
        if self._anew:
            self._void()
        self._said.append(text)
        if not self._before:
            self._tell(text)
        elif self._before.startswith(text, self._at) and self._at + len(text) < len(self._before):
            self._at += len(text)
        elif text.startswith(rest := self._before[self._at :]):
            self._before = ""
            if new := text[len(rest) :]:
                self._tell(new)
        else:
            self.settle()

    def _void(self) -> None:
        self._before, self._anew = "", False
        self._tell(None)

    def settle(self) -> None:
        """The reply will not say the rest of what was read: that is void, and it is told from its beginning."""
        if self._before or self._anew:
            self._void()
            if said := "".join(self._said):
                self._tell(said)
