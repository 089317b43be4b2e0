"""Lines that a person edits: readline where there is one. Runs in the keyboard's thread; knows no loop."""

from __future__ import annotations

from collections.abc import Callable, Sequence

Order = tuple[str, str]
"""A prompt, and what stands in the line already."""


class Editor:
    """`words`: what Tab completes at the start of a line."""

    def __init__(self, words: Callable[[], Sequence[str]]) -> None:
        self._words = words
        self._editing = False
        try:
            import readline
        except ImportError:
            self._readline = None
            return
        self._readline = readline
        readline.set_completer(self._completed)
        readline.set_completer_delims(" \t\n")
        readline.parse_and_bind("tab: complete")
        # Called once the prompt is shown; what readline holds before is the line before.
        readline.set_pre_input_hook(self._begun)

    def read(self, order: Order) -> str:
        """One line. Raises EOFError."""
        prompt, inserted = order
        if self._readline is not None:
            self._readline.set_startup_hook(lambda: self._insert(inserted))
        try:
            return input(prompt)
        finally:
            self._editing = False

    def typed(self) -> str | None:
        """What stands in the line so far; None while no line is edited."""
        return self._readline.get_line_buffer() if self._readline is not None and self._editing else None

    def _begun(self) -> None:
        self._editing = True

    def _insert(self, text: str) -> None:
        if self._readline is not None and text:
            self._readline.insert_text(text)

    def _completed(self, text: str, state: int) -> str | None:
        if self._readline is None or not text or self._readline.get_begidx() > 0:
            return None
        fitting = [word for word in self._words() if word.startswith(text)]
        if state >= len(fitting):
            return None
        return fitting[state] if len(fitting) > 1 else f"{fitting[0]} "
