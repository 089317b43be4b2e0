"""Text that is safe to write to a terminal: what a model or a tool says must not move the cursor or hide a line."""

from __future__ import annotations

import unicodedata


def printable(text: str) -> str:
    """Control and format characters made visible, but for newline and tab."""
    if text.isprintable():
        return text
    text = text.replace("\r\n", "\n")
    return "".join(char if _harmless(char) else _visible(char) for char in text)


def one_line(text: str) -> str:
    """The same as one line: a name that could hold a line end could forge the next line of a question."""
    return printable(text).replace("\n", "\\n").replace("\t", "\\t")


def _harmless(char: str) -> bool:
    return char in "\n\t" or unicodedata.category(char) not in ("Cc", "Cf", "Cs", "Co") or char in _JOINERS


# Emoji sequences and several scripts are spelled with these.
_JOINERS = "\u200c\u200d\ufe0f"


def _visible(char: str) -> str:
    return f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}"
