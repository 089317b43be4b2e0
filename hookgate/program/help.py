"""How help is laid out, also in windows for which click's is too wide."""

from __future__ import annotations

from collections.abc import Iterable
from shutil import get_terminal_size

import click

_CLICKS_LEAST = 50
_LEAST = 20


class Help(click.HelpFormatter):
    def __init__(self, indent_increment: int = 2, width: int | None = None, max_width: int | None = None) -> None:
        super().__init__(indent_increment, width, max_width)
        self.width = max(min(self.width, get_terminal_size().columns - 2), _LEAST)

    def write_dl(self, rows: Iterable[tuple[str, str]], col_max: int = 30, col_spacing: int = 2) -> None:
        super().write_dl(rows, self.width // 3 if self.width < _CLICKS_LEAST else col_max, col_spacing)


class Context(click.Context):
    formatter_class = Help
