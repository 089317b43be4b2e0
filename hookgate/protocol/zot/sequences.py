"""Control sequences of terminals, which extensions write for zot's: colours, and what moves, erases and names."""

from __future__ import annotations

import re

# CSI, OSC and the like with their ends, and what is shorter.
SEQUENCE = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|[\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\)|[ -/]*[0-OQ-WYZ\\`-~])")


def without_sequences(text: str) -> str:
    """The text for whatever is no terminal, where they would be read as letters."""
    return SEQUENCE.sub("", text) if "\x1b" in text else text
