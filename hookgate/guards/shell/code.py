"""Where a program that runs code has it from: which of its arguments it is, or whether it reads it from its input."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from hookgate.guards.shell.tree import Word
from hookgate.processes.interpreters import INTERPRETERS, SHELL, SHELLS, gives_code

_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_HELP = frozenset({"--version", "--help", "-V", "-h"})
_OPTION = re.compile(r"[-+][A-Za-z]*[oO][A-Za-z]*")
"""In a bundle of a shell's flags, `-euo`, that takes the next word."""


def reads_code(name: str, arguments: Sequence[Word]) -> bool:
    """Whether the input of this one of INTERPRETERS is what it runs: it has neither code nor a script among its
    arguments."""
    if name in SHELLS:
        return _shell_reads(arguments)
    known = INTERPRETERS[name]
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in _STANDARD_INPUT:
            return True
        if text in _HELP:
            return False
        if gives_code(text, known.code):
            return next(rest, Word("")).text in _STANDARD_INPUT
        if text in known.valued:
            next(rest, None)
        elif not text.startswith("-") and text != known.verb:
            return False
    return True


def command_line(arguments: Sequence[Word]) -> Word | None:
    """The line that a shell gets with `-c`, wherever its flags stand."""
    return _asked_line(arguments)[1]


def awaits_line(arguments: Sequence[Word], places: Collection[str]) -> bool:
    """Whether a shell is asked for a line that whoever starts it puts in: behind the flags, or at one of these."""
    asked, line = _asked_line(arguments)
    return asked and (line is None or line.text in places)


def _asked_line(arguments: Sequence[Word]) -> tuple[bool, Word | None]:
    asked = False
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text.startswith(("-", "+")) and len(text) > 1 and text != "--":
            asked |= gives_code(text, SHELL.code)
            if _takes_next(text):
                next(rest, None)
        elif text != "--":
            return asked, argument if asked else None
    return asked, None


def sourced_input(arguments: Sequence[Word]) -> bool:
    """Whether what a shell reads for itself, with `source`, is its input."""
    return next((it.text for it in arguments if it.text != "--"), "") in _STANDARD_INPUT - {"-"}


def script(arguments: Sequence[Word]) -> Word | None:
    """The first word that is no flag."""
    return next((it for it in arguments if not it.text.startswith(("-", "+"))), None)


def _shell_reads(arguments: Sequence[Word]) -> bool:
    if command_line(arguments) is not None:
        return False
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in _STANDARD_INPUT or gives_code(text, "s"):
            return True
        if text in _HELP:
            return False
        if _takes_next(text):
            next(rest, None)
        elif not text.startswith(("-", "+")):
            return False
    return True


def _takes_next(flag: str) -> bool:
    return flag in SHELL.valued or _OPTION.fullmatch(flag) is not None
