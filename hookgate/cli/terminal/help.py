"""The help of a chat, and rows laid out for reading: as wide as the terminal where there is one."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence

from hookgate.cli.terminal.keyboard import screen_size
from hookgate.loop.commands import Command, Commands
from hookgate.protocol.values import Chat

LONGEST_COLUMN = 28
"""Of what stands before the last column; a longer cell is whole, and moves its own row alone."""
NARROWEST = 20
"""Of the last column, in characters; below that nothing is wrapped."""


def at_the_prompt(commands: Commands, chat: Chat) -> list[Command]:
    """A terminal reads lines only at its prompt, so `/stop` is of no use there: Ctrl-C is."""
    return [it for it in commands.listed(chat) if it.name != "stop"]


def help_text(commands: Commands, chat: Chat) -> str:
    """Extensions' commands come last."""
    listed = at_the_prompt(commands, chat)
    own, brought = [it.row for it in listed if not it.extension], [it.row for it in listed if it.extension]
    rows = [*own, ("//TEXT", "say /TEXT to the model, instead of a command"), *brought]
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
