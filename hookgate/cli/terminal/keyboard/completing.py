"""What Tab makes of what has been typed so far."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

if TYPE_CHECKING:
    from hookgate.cli.terminal.keyboard.edited import EditedKeyboard


class LineCompleter(Completer):
    def __init__(self, keyboard: EditedKeyboard) -> None:
        self._keyboard = keyboard

    def get_completions(self, document: Document, complete_event: CompleteEvent) -> Iterable[Completion]:
        typed = document.text_before_cursor
        if not typed.startswith("/") or len(typed.split()) > 1:
            return
        for word in self._keyboard.words():
            if word.startswith(typed):
                yield Completion(f"{word} ", -len(typed), display=word)
