"""Text that is safe to write to a terminal: what a model or a tool says must not move the cursor or hide a line.

What a person decides about is shown stricter than what they read: nothing in it is invisible, and only blanks are
blank.
"""

from __future__ import annotations

import json
import locale
import re
import unicodedata

from hookgate.protocol.zot.sequences import SEQUENCE

MAX_NAME_CHARS = 64


def printable(text: str) -> str:
    """Control and format characters made visible, but for newline and tab."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(char if _harmless(char) else escaped(char) for char in text)


def coloured(text: str, *, keep: bool) -> str:
    """The same of an extension's text, which may have colours: they stay where they are to be kept, and end with
    their line. Other control sequences are left out, and so is what makes text unseen."""
    if "\x1b" not in text:
        return printable(text)
    return "\n".join(_coloured(line, keep=keep) for line in text.split("\n"))


def _coloured(line: str, *, keep: bool) -> str:
    shown: list[str] = []
    at, open_ = 0, False
    for found in SEQUENCE.finditer(line):
        shown.append(printable(line[at : found.start()]))
        at = found.end()
        if keep and (colour := found[0]) and COLOUR.fullmatch(colour):
            shown.append(colour)
            open_ = True
    shown.append(printable(line[at:]))
    return "".join([*shown, RESET if open_ else ""])


def one_line(text: str) -> str:
    """The same as one line: a name that could hold a line end could forge the next line of a question."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def visible(text: str) -> str:
    """For a question: whatever shows as nothing, as a blank or as no character at all is written out, but for newline
    and tab."""
    return text if text.isascii() and text.isprintable() else text.translate(_VISIBLE)


def invisible(text: str) -> int:
    """How many characters of it `visible` writes out."""
    return 0 if text.isascii() and text.isprintable() else sum(_VISIBLE[ord(char)] != char for char in text)


def named(name: str) -> str:
    """A name among hookgate's own words: one word, in quotes where it is more than letters, digits and the like, and
    shortened, which is said, where it is long."""
    if _PLAIN_NAME.fullmatch(name):
        return name
    quoted = json.dumps(name[:MAX_NAME_CHARS]).replace(" ", "\\u0020")
    return quoted if len(name) <= MAX_NAME_CHARS else f"{quoted}...({len(name)}_characters)"


def char_columns(char: str) -> int:
    """How many it takes on a terminal, at most: terminals differ, and a row that is wider than it was taken for goes
    on in the next one."""
    if char.isascii():
        return 1
    width = unicodedata.east_asian_width(char)
    if width == "A":
        return 2 if locale.setlocale(locale.LC_CTYPE).startswith(("zh", "ja", "ko")) else 1
    # Other symbols are drawn wide where they count as emoji, which changes from one Unicode to the next.
    return 2 if width in "WF" or unicodedata.category(char)[0] == "S" else 1


def text_columns(text: str) -> int:
    """The same of all its characters, in one row."""
    return len(text) if text.isascii() else sum(map(char_columns, text))


def cut(line: str, columns: int) -> str:
    """As much of it as has room there; that there was more is seen."""
    taken = 0
    for number, char in enumerate(line):
        taken += char_columns(char)
        if taken > columns:
            return f"{line[: max(number - 1, 0)]}…"
    return line


def escaped(char: str) -> str:
    number = ord(char)
    return f"\\x{number:02x}" if number < 0x100 else f"\\u{number:04x}" if number < 0x10000 else f"\\U{number:08x}"


RESET = "\x1b[0m"
_NUMBER = r"(?:0?[0-79]|2[1-9]|3[0-79]|4[0-79]|9[0-7]|10[0-7]|[34]8;5;\d{1,3}|[34]8;2(?:;\d{1,3}){3})?"
COLOUR = re.compile(rf"\x1b\[{_NUMBER}(?:;{_NUMBER})*m")
"""SGR but for 8, which hides what follows, and what nobody knows."""
_PLAIN_NAME = re.compile(rf"[A-Za-z0-9_.:/@+-]{{1,{MAX_NAME_CHARS}}}")
# Emoji sequences and several scripts are spelled with these.
_JOINERS = "\u200c\u200d\ufe0f"


def _harmless(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co") or char in _JOINERS


# Default_Ignorable_Code_Point of Unicode, and what is drawn as a blank without being one: Braille's, a note's,
# fillers of Khitan and of hieroglyphs.
_UNSEEN = (
    *((0xAD, 0xAD), (0x34F, 0x34F), (0x61C, 0x61C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F)),
    *((0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F), (0x2800, 0x2800), (0x3164, 0x3164), (0xFE00, 0xFE0F)),
    *((0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFFC), (0x13441, 0x13442), (0x16FE4, 0x16FE4)),
    *((0x1BCA0, 0x1BCA3), (0x1D159, 0x1D159), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)),
)
# Of characters that nobody has assigned yet nobody knows how they look.
_UNSEEN_CATEGORIES = ("Cc", "Cf", "Cs", "Co", "Cn", "Zs", "Zl", "Zp")


class _Visible(dict[int, str]):
    """For str.translate; each character is judged once."""

    def __missing__(self, number: int) -> str:
        if len(self) >= _MAX_JUDGED:
            self.clear()
        char = chr(number)
        shown = self[number] = escaped(char) if _unseen(char) else char
        return shown


_MAX_JUDGED = 1 << 14
_VISIBLE = _Visible()


def _unseen(char: str) -> bool:
    if char in "\n\t ":
        return False
    if unicodedata.category(char) in _UNSEEN_CATEGORIES:
        return True
    return any(first <= ord(char) <= last for first, last in _UNSEEN)
