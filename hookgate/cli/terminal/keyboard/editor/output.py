"""What the editor draws on: a whole step of it at once, on as much room as there is."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

from prompt_toolkit.data_structures import Size
from prompt_toolkit.output.vt100 import Vt100_Output

from hookgate.cli.printing import screen_size


class Output(Vt100_Output):
    """Writes when it is told to, but inside `at_once`, which nobody sees half done."""

    _held = False

    @contextmanager
    def at_once(self) -> Generator[None]:
        self._held = True
        try:
            yield
        finally:
            self._held = False
        self.flush()

    def flush(self) -> None:
        if not self._held:
            super().flush()

    def disable_bracketed_paste(self) -> None:
        """Not for each drawing: what is pasted meanwhile would be lines that are typed."""

    def lend(self) -> None:
        """Whoever has the terminal now gets pastes unmarked, until the next drawing."""
        super().disable_bracketed_paste()
        self.flush()


def size() -> Size:
    columns, rows = screen_size()
    return Size(rows=rows, columns=columns)
