"""Lines of hookgate's own at the edge of a terminal: they go on with a word. Knows no colours."""

from __future__ import annotations

import textwrap

NARROWEST = 20
"""Columns; below that the terminal cuts them as it does."""


def wrapped(text: str, columns: int) -> str:
    """No line wider than that, but for a single word: a path or an address stays one that can be copied."""
    return "\n".join(row for line in text.split("\n") for row in _rows(line, columns))


def _rows(line: str, columns: int) -> list[str]:
    if len(line) <= columns or columns < NARROWEST:
        return [line]
    indent = line[: len(line) - len(line.lstrip())][: columns // 2] + "  "
    return textwrap.wrap(
        line,
        columns,
        subsequent_indent=indent,
        replace_whitespace=False,
        break_long_words=False,
        break_on_hyphens=False,
    )
