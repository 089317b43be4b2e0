"""An extension's panel on a terminal: how it is drawn and drawn over, and which keys what is typed there means.

Knows no extension and reads nothing itself.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from unicodedata import combining

from hookgate.channels.dialogue import Size
from hookgate.channels.printable import char_columns, printable

if TYPE_CHECKING:
    from hookgate.protocol.zot.frames import Panel

UP = "\x1b[{}A"
CLEAR = "\r\x1b[J"
CLOSES, AWAITS = "esc closes", "Enter goes there"
"""What a person can do: while the panel takes the keys, and while a prompt does."""


class PanelView:
    """Draws over what it drew before, as long as nothing else has been written since (`left_behind`)."""

    def __init__(self, write: Callable[[str], None], size: Size) -> None:
        self._write = write
        self._size = size
        self._height = 0

    def draw(self, panel: Panel, hint: str = CLOSES) -> None:
        lines = drawn(panel, *self._size(), hint)
        self._write(self._over() + "".join(f"{line}\n" for line in lines))
        self._height = len(lines)

    def erase(self) -> None:
        self._write(self._over())
        self._height = 0

    def left_behind(self) -> None:
        """Something else stands below it now: it stays as it is."""
        self._height = 0

    def _over(self) -> str:
        return UP.format(self._height) + CLEAR if self._height else ""


def drawn(panel: Panel, columns: int, rows: int, hint: str = CLOSES) -> list[str]:
    """The lines that fit: a line that wrapped, or scrolled away, could not be drawn over."""
    width, room = max(columns - 1, 10), max(rows - 1, 4)
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


# --- keys ---------------------------------------------------------------------------------------------------

Key = tuple[str, str]
"""The key's name on the wire, and with `rune` the character."""

_LETTERS = {"A": "up", "B": "down", "C": "right", "D": "left", "H": "home", "F": "end"}
_NUMBERS = {"1": "home", "7": "home", "4": "end", "8": "end", "3": "delete", "5": "pageup", "6": "pagedown"}
_CONTROLS = {"\r": "enter", "\n": "enter", "\t": "tab", "\x7f": "backspace", "\b": "backspace", "\x03": "esc"}
_BROKEN = "\ufffd"
_SEQUENCE = re.compile(r"\x1b(?:\[([0-9;]*)([A-Za-z~])|O([A-Za-z])|([^\[O]))")


class Keys:
    """Bytes of a terminal in, keys out. A lone Esc is one only when nothing follows it: `rest` decides."""

    def __init__(self) -> None:
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._waiting = ""

    @property
    def undecided(self) -> bool:
        return bool(self._waiting or self._decoder.getstate()[0])

    def feed(self, data: bytes) -> list[Key]:
        self._waiting += self._decoder.decode(data)
        keys, end = _keys(self._waiting)
        self._waiting = self._waiting[end:]
        return keys

    def rest(self) -> list[Key]:
        """Nothing more comes."""
        text, self._waiting = self._waiting + self._decoder.decode(b"", final=True), ""
        self._decoder.reset()
        if not text:
            return []
        return [("esc", "")] if text == "\x1b" else [("unknown", "")]


def _keys(text: str) -> tuple[list[Key], int]:
    """The keys in the text, and where what may be half a sequence begins."""
    keys: list[Key] = []
    at = 0
    while at < len(text):
        if text[at] != "\x1b":
            keys.append(_key(text[at]))
            at += 1
        elif (match := _SEQUENCE.match(text, at)) is not None:
            keys.extend(_of_sequence(match))
            at = match.end()
        else:
            break
    return keys, at


def _key(char: str) -> Key:
    if char in _CONTROLS:
        return _CONTROLS[char], ""
    return ("rune", char) if char.isprintable() and char != _BROKEN else ("unknown", "")


def _of_sequence(match: re.Match[str]) -> Iterator[Key]:
    numbers, final, application, other = match.groups()
    if other is not None:
        # Esc and then a key of its own: fast fingers, or Alt, which no panel knows.
        yield ("esc", "") if other == "\x1b" else ("unknown", "")
    elif final == "~":
        yield _NUMBERS.get(numbers, "unknown"), ""
    else:
        plain = application or (final if not numbers else "")
        yield _LETTERS.get(plain, "unknown"), ""
