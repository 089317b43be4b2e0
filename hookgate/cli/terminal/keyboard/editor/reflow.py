"""What the editor drew, taken away again: also where the terminal has folded it anew, as most do whose width changes.

prompt_toolkit goes up by the rows that it drew and erases from there on. Where they are more by now, some would stay
above that; and what is erased from the first row of the screen on, tmux puts into its history.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from prompt_toolkit.application import Application
from prompt_toolkit.data_structures import Point
from prompt_toolkit.layout import Layout
from prompt_toolkit.layout.screen import Screen
from prompt_toolkit.renderer import Renderer
from prompt_toolkit.utils import get_cwidth

from hookgate import config as configuration


class ReflowedRenderer(Renderer):
    def erase(self, leave_alternate_screen: bool = True) -> None:
        self._wipe()
        super().erase(leave_alternate_screen)

    def render(self, app: Application[Any], layout: Layout, is_done: bool = False) -> None:
        if self._last_size is not None and self._last_size != self.output.get_size():
            self._wipe()
        super().render(app, layout, is_done)

    def erase_above(self, text: str) -> None:
        """Whole lines that stand right above what was erased, as far as they are still on the screen."""
        columns, folds = self.output.get_size().columns, configuration.folds_anew()
        for line in text.split("\n")[:-1]:
            for _ in range(1 + (folded(line, columns) if folds else 0)):
                self.output.cursor_up(1)
                self.output.erase_end_of_line()

    def _wipe(self) -> None:
        """Row by row, up to where it begins."""
        above = self._above()
        # Not from the corner of the screen on, either.
        self.output.cursor_forward(1)
        self.output.erase_down()
        for up in (*[1] * above, 0):
            self.output.write_raw("\r")
            self.output.erase_end_of_line()
            self.output.cursor_up(up)
        self._cursor_pos = Point(0, 0)

    def _above(self) -> int:
        """How many rows of it stand above the cursor now."""
        drawn, size, at = self._last_screen, self._last_size, self._cursor_pos
        columns = self.output.get_size().columns
        if drawn is None or size is None or size.columns == columns or not configuration.folds_anew():
            return at.y
        before = sum(folded(self._row(drawn, y), columns) + 1 for y in range(at.y))
        return before + folded(self._row(drawn, at.y)[: at.x + 1], columns)

    def _row(self, drawn: Screen, y: int) -> list[str]:
        """Without the blanks behind it, which were not written."""
        row, styled = drawn.data_buffer[y], self._style_string_has_style
        last = max((x for x, it in row.items() if it.char != " " or (styled and styled[it.style])), default=-1)
        return [row[x].char for x in range(last + 1)]


def folded(row: Iterable[str], columns: int) -> int:
    """How often a row goes on below itself in so many columns."""
    times = taken = 0
    for width in map(get_cwidth, row):
        if taken + width > columns:
            times, taken = times + 1, 0
        taken += width
    return times
