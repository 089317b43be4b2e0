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


BESIDE = 6
"""Rows that its lines leave: to its title and its footer, and to whoever types."""


class PanelView:
    """The open panel, of one that is longer than the terminal the part in which something has changed last: whoever
    moves through a list sees where they are."""

    def __init__(self) -> None:
        self._panel: Panel | None = None
        self._top = 0

    def drawn(self, panel: Panel, size: tuple[int, int], hint: str, *, colours: bool) -> list[str]:
        """The lines that fit into so many columns and rows; with `colours` those that are in them."""
        columns, rows = size
        fit = max(rows - BESIDE, 3)
        before, self._panel = self._panel, panel
        same = before is not None and before.id == panel.id
        changed = _changed(before.lines, panel.lines) if before is not None and same else ()
        self._top = _followed(changed, self._top if same else 0, fit, max(len(panel.lines) - fit, 0))
        title, footer, *lines = (_flat(text, keep=colours) for text in (panel.title, panel.footer, *panel.lines))
        footer = "  ".join(part for part in (footer, hint) if part)
        head = f"── {title} ──" if panel.title else "──"
        body = _part([f"  {line}" for line in lines], self._top, fit)
        return [_cut(line, max(columns - 1, 10)) for line in (head, *body, f"── {footer}")]

    def close(self) -> None:
        """The next one begins at its first line."""
        self._panel = None


def _changed(before: tuple[str, ...], now: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(at for at, line in enumerate(now) if before[at : at + 1] != (line,))


def _followed(changed: tuple[int, ...], top: int, fit: int, most: int) -> int:
    """The first line to be shown, so that those that have changed are seen where they can be."""
    top = min(top, most)
    if not changed:
        return top
    above = changed[0] < top + (top > 0)
    below = changed[-1] > top + fit - 1 - (top < most)
    if above == below:
        return top
    return max(changed[0] - 1, 0) if above else min(changed[-1] - fit + 2, most)


def _part(body: list[str], top: int, fit: int) -> list[str]:
    """With a row for what is above, and one for what is below."""
    kept, below = body[top : top + fit], len(body) - top - fit
    if top:
        kept[0] = f"  … {top + 1} lines above"
    if below > 0:
        kept[-1] = f"  … {below + 1} more lines"
    return kept


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
