"""What a process wrote last to its stderr, as part of the line that reports its end.

For operators alone: it may hold anything, so no model is told it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

WARNING = "<4>"
"""How a line of stderr begins that is a warning: the priority that syslog has for it."""
LINES = 5
LINE_CHARACTERS = 200
CHARACTERS = 400

Redact = Callable[[str], str]


def ended(reason: str, words: Sequence[str], redact: Redact) -> str:
    """The reason and the words in one line: bounded, secrets replaced, control characters shown. `words`: whole
    lines, since of half a secret nobody can tell that it is one."""
    lines = [_shown(line) for line in redact("\n".join(words)).splitlines()]
    said = " | ".join(line for line in lines if line)
    if len(said) > CHARACTERS:
        said = f"...{said[-CHARACTERS:]}"
    return f"{reason} (stderr: {said})" if said else reason


def _shown(line: str) -> str:
    line = line.strip()
    cut = f"{line[:LINE_CHARACTERS]}..." if len(line) > LINE_CHARACTERS else line
    return "".join(it if it.isprintable() else it.encode("unicode_escape").decode() for it in cut)
