"""The messages that the arrow keys and the search go through, as prompt_toolkit wants them."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit import history

from hookgate.cli.terminal.keyboard.history import History


class Messages(history.History):
    """What was kept by chats before this one. What is typed in this one is written when it is known that it may."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._kept.read())

    def store_string(self, string: str) -> None:
        pass
