"""The messages that the arrow keys and the search go through, as prompt_toolkit wants them."""

from __future__ import annotations

from collections.abc import Iterable

from prompt_toolkit import history, search
from prompt_toolkit.application import get_app
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.document import Document
from prompt_toolkit.search import SearchDirection

from hookgate.cli.terminal.keyboard.editor.history import History


class Messages(history.History):
    """What was kept by chats before this one. What is typed in this one is written when it is known that it may."""

    def __init__(self, kept: History) -> None:
        super().__init__()
        self._kept = kept

    def load_history_strings(self) -> Iterable[str]:
        return reversed(self._kept.read())

    def store_string(self, string: str) -> None:
        pass


class Line(Buffer):
    """The message that is typed, among those before it. A search that is left gives back where one was."""

    _next = ""
    _searched_from = 0, 0
    """How many lines stand behind the one that was seen then, and where the cursor was in it."""

    def put(self, text: str) -> None:
        """It stands there as soon as the line is empty."""
        if self.text:
            self._next = text
        else:
            self.insert_text(text)

    def clear(self) -> None:
        self.reset(Document(self._next, len(self._next)))
        self._next = ""

    def begin_search(self, direction: SearchDirection) -> None:
        self._searched_from = len(self._working_lines) - self.working_index, self.cursor_position
        search.start_search(direction=direction)

    def leave_search(self) -> None:
        if get_app().layout.is_searching:
            search.stop_search()
            behind, cursor = self._searched_from
            self.working_index = len(self._working_lines) - behind
            self.cursor_position = cursor
