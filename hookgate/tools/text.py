"""Cutting text to what a model is given, on character boundaries, and saying so. Knows no tool."""

from __future__ import annotations

import codecs

from hookgate.protocol import call_context

MAX_BYTES = 50 * 1024
MAX_LINES = 2000

# How much longer a text may be and still is left whole. A tool that cuts its output itself needs the room for its
# own words (the command line, the note about the cut), and a text that is cut once must not be cut again.
SPARE_BYTES = 12 * 1024
SPARE_LINES = 256


def head(data: bytes) -> str:
    """UTF-8 with replacements; a character, or a secret, that the end cuts in two is left out."""
    return uncut(codecs.getincrementaldecoder("utf-8")("replace").decode(data))


def uncut(text: str) -> str:
    """What is left of a text that ends where it was cut, without the half of a secret: redaction knows whole ones."""
    return text[: call_context.work.get().secret_from(text)]


def clean(text: str) -> str:
    """The same text without lone surrogates, which neither UTF-8 nor a database takes."""
    return text if text.isascii() else text.encode("utf-8", "replace").decode()


def cut(text: str, max_bytes: int = MAX_BYTES, max_lines: int = MAX_LINES) -> str:
    """The head of `text`, within both limits, and a last line that says how much is missing."""
    if len(text) * 4 <= max_bytes and text.count("\n") < max_lines:
        return text
    kept = _first_lines(text, max_lines)
    data = kept.encode("utf-8", "replace")
    kept = head(data[:max_bytes]) if len(data) > max_bytes else kept
    if len(kept) == len(text):
        return text
    missing = text[len(kept) :]
    size, lines = len(missing.encode("utf-8", "replace")), missing.count("\n") + 1
    return f"{kept.rstrip(chr(10))}\n... [{size} bytes in {lines} lines more]"


def nearly_within_limits(text: str) -> bool:
    """Whether a text is short enough to leave as it is."""
    size = len(text) if text.isascii() else len(text.encode("utf-8", "replace"))
    return size <= MAX_BYTES + SPARE_BYTES and text.count("\n") < MAX_LINES + SPARE_LINES


def _first_lines(text: str, count: int) -> str:
    position = -1
    for _ in range(count):
        position = text.find("\n", position + 1)
        if position < 0:
            return text
    return text[: position + 1]
