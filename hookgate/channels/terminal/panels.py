"""An extension's panel on a terminal: its rows, and what a key is called that goes to it.

Knows no extension, draws nothing and reads nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from unicodedata import combining

from hookgate.channels.printable import COLOUR, RESET, char_columns, coloured

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

CLOSES, AWAITS = "esc closes", "Enter sends what is typed and goes there"
"""What a person can do: while the panel takes the keys, and while a prompt does."""


def drawn(panel: Panel, size: tuple[int, int], hint: str, *, colours: bool) -> list[str]:
    """The lines that fit into so many columns and rows; with `colours` those that are in them."""
    columns, rows = size
    width, room = max(columns - 1, 10), max(rows - 3, 4)
    title, footer, *lines = (_flat(text, keep=colours) for text in (panel.title, panel.footer, *panel.lines))
    footer = "  ".join(part for part in (footer, hint) if part)
    head = [f"── {title} ──"] if panel.title else ["──"]
    body = [f"  {line}" for line in lines]
    kept = body[: room - 2]
    if len(kept) < len(body):
        kept[-1] = f"  … {len(body) - len(kept) + 1} more lines"
    return [_cut(line, width) for line in (*head, *kept, f"── {footer}")]


def _flat(text: str, *, keep: bool) -> str:
    """One line without anything that could move the cursor."""
    return coloured(text, keep=keep).replace("\n", " ").replace("\t", "    ")


def _cut(text: str, width: int) -> str:
    """Colours take no room."""
    taken = at = last = 0
    while at < len(text):
        if text[at] == "\x1b" and (colour := COLOUR.match(text, at)):
            at = colour.end()
            continue
        taken += 0 if combining(text[at]) else char_columns(text[at])
        if taken > width:
            return f"{text[:last]}…{RESET if RESET[0] in text[:last] else ''}"
        last, at = at, at + 1
    return text


Key = tuple[str, str]
"""The key's name on the wire, and with `rune` the character."""
