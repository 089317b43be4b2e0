"""An extension's panel on a terminal: its rows, and what a key is called that goes to it.

Knows no extension, draws nothing and reads nothing.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING
from unicodedata import combining

from hookgate.channels.printable import char_columns, printable

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

CLOSES, AWAITS = "esc closes", "Enter goes there"
"""What a person can do: while the panel takes the keys, and while a prompt does."""


def drawn(panel: Panel, columns: int, rows: int, hint: str) -> list[str]:
    """The lines that fit."""
    width, room = max(columns - 1, 10), max(rows - 3, 4)
    footer = "  ".join(part for part in (_flat(panel.footer), hint) if part)
    head = [f"── {_flat(panel.title)} ──"] if panel.title else ["──"]
    body = [f"  {_flat(line)}" for line in panel.lines]
    kept = body[: room - 2]
    if len(kept) < len(body):
        kept[-1] = f"  … {len(body) - len(kept) + 1} more lines"
    return [_cut(line, width) for line in (*head, *kept, f"── {footer}")]


def _flat(text: str) -> str:
    """One line without anything that could move the cursor; colours go too."""
    return printable(_STYLE.sub("", text)).replace("\n", " ").replace("\t", "    ")


_STYLE = re.compile(r"\x1b\[[0-9;:]*m")


def _cut(text: str, width: int) -> str:
    taken = 0
    for index, char in enumerate(text):
        taken += 0 if combining(char) else char_columns(char)
        if taken > width:
            return text[: index - 1] + "…"
    return text


Key = tuple[str, str]
"""The key's name on the wire, and with `rune` the character."""
