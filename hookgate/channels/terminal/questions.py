"""Questions of one terminal: the one that stands open, and those that wait for its end. Asks nobody."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from hookgate.channels.terminal.dialogue import Dialogue


class OpenQuestions:
    def __init__(self) -> None:
        self._dialogues: list[Dialogue] = []
        self._number = 0

    @contextmanager
    def among(self, dialogue: Dialogue) -> Generator[None]:
        """While it waits or stands open."""
        self._dialogues.append(dialogue)
        try:
            yield
        finally:
            self._dialogues.remove(dialogue)
            self._number = self._number if self._dialogues else 0

    def begin(self, dialogue: Dialogue) -> None:
        """It is the one that stands open."""
        self._number += 1
        dialogue.place = self.place if self._many > 1 else ""

    @property
    def place(self) -> str:
        """Of the one that stands open: `1 of 2`."""
        return f"{self._number} of {self._many}"

    @property
    def _many(self) -> int:
        return self._number + len(self._dialogues) - 1

    def shows_whole(self, request: str) -> bool:
        """One that waits has not been shown yet."""
        return any(it.read for it in self._dialogues if it.request == request)

    def viewed(self, request: str) -> None:
        for dialogue in self._dialogues:
            if dialogue.request == request:
                dialogue.viewed()
