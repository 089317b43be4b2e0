"""The help of a chat, and rows laid out for reading: as wide as the terminal where there is one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from hookgate.cli.terminal.keyboard import screen_size

# A terminal reads lines only at its prompt, so `/stop` is of no use there: Ctrl-C is.
COMMANDS = {
    "/new": "start a new conversation",
    "/compact": "sum up the older part of the conversation",
    "/tools": "what the model may use",
    "/hooks": "the hooks and their state",
    "/mcp": "the MCP connections",
    "/model": "which model answers; /model NAME: another, of any configured provider",
    "/reload-ext": "stop the extensions and load them again",
    "/help": "this text",
    "/quit": "leave",
}
LONGEST_COLUMN = 28
"""Of what stands before the last column; a longer cell is whole, and moves its own row alone."""
NARROWEST = 20
"""Of the last column, in characters; below that nothing is wrapped."""


def help_text(more: Iterable[Sequence[str]]) -> str:
    """`more`: rows of extensions' commands."""
    rows = [*COMMANDS.items(), ("//TEXT", "say /TEXT to the model, instead of a command"), *more]
    first = "Type a message and Enter. Ctrl-C ends the running turn; at the prompt, Ctrl-C twice or Ctrl-D leaves."
    return "\n".join([first, *aligned(rows, width_shown())])


def width_shown() -> int | None:
    """None where nobody reads it on a screen: what is piped is not wrapped."""
    return screen_size()[0] if sys.stdout.isatty() else None


def aligned(rows: Iterable[Sequence[str]], width: int | None = None) -> list[str]:
    """Lines of columns; the last one goes on below itself where it is too long for `width`."""
    cells = [[" ".join(cell.split()) for cell in row] for row in rows]
    columns = list(zip(*(row[:-1] for row in cells), strict=True))
    widths = [max((len(cell) for cell in column if len(cell) <= LONGEST_COLUMN), default=0) for column in columns]
    heads = ["".join(f"  {cell:<{size}}" for cell, size in zip(row, widths, strict=False)) for row in cells]
    indent = sum(widths) + 2 * len(widths) + 2
    parts = (_wrapped((f"{head}  ", row[-1]), indent, width) for head, row in zip(heads, cells, strict=True))
    return [line.rstrip() for lines in parts for line in lines]


def _wrapped(line: tuple[str, str], indent: int, width: int | None) -> list[str]:
    head, text = line
    if width is None or len(head + text) < width or width - indent < NARROWEST:
        return [head + text]
    from textwrap import wrap

    return wrap(text, width - 1, initial_indent=head, subsequent_indent=" " * indent)
