"""Where a program that runs code has it from: which of its arguments it is, or whether it reads it from its input."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.guards.shell.tree import Word
from hookgate.processes.interpreters import INTERPRETERS, SHELL, SHELLS, gives_code

_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_HELP = frozenset({"--version", "--help", "-V", "-h"})


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
        if text in _HELP or gives_code(text, known.code):
            return False
        if text in known.valued:
            next(rest, None)
        elif not text.startswith("-") and text != known.verb:
            return False
    return True


def command_line(arguments: Sequence[Word]) -> Word | None:
    """The line that a shell gets with `-c`, wherever its flags stand."""
    asked = False
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in SHELL.valued:
            next(rest, None)
        elif text.startswith(("-", "+")) and len(text) > 1 and text != "--":
            asked |= gives_code(text, SHELL.code)
        elif text != "--":
            return argument if asked else None
    return None


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
        if text in SHELL.valued:
            next(rest, None)
        elif not text.startswith(("-", "+")):
            return False
    return True
