"""Programs that run code: which of their arguments is the code, and whether they read it from their input."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from hookgate.guards.shell.tree import Word

SHELLS = frozenset({"sh", "bash", "dash", "zsh", "ksh", "mksh", "ash", "fish", "rbash"})
_STANDARD_INPUT = frozenset({"-", "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"})
_VERSIONED = re.compile(r"(python|pypy|ruby|perl|php|lua|node)[\d.]*\Z", re.ASCII)
_HELP = frozenset({"--version", "--help", "-V", "-h"})
_SHELL_VALUED = frozenset({"-o", "+o", "-O", "+O", "--rcfile", "--init-file"})

# Letters that give code, or a module, on the command line; and flags that take the next word.
_CODE_LETTERS: Mapping[str, str] = {
    "python": "cm",
    "pypy": "cm",
    "ruby": "e",
    "perl": "eE",
    "php": "rfBRFE",
    "lua": "e",
    "node": "ep",
    "bun": "ep",
    "deno": "",
    "Rscript": "e",
    "R": "ef",
    "tclsh": "",
    "pwsh": "cf",
}
_VALUED: Mapping[str, frozenset[str]] = {
    "python": frozenset({"-W", "-X"}),
    "node": frozenset({"-r", "--require", "--import", "--loader", "--input-type"}),
    "ruby": frozenset({"-r", "-I", "-C"}),
    "perl": frozenset({"-I"}),
    "php": frozenset({"-d", "-c"}),
    "lua": frozenset({"-l"}),
}
# The script comes after them: `deno run -`.
_SUBCOMMANDS = frozenset({("deno", "run"), ("bun", "run")})
_CODE_WORDS = frozenset({"--eval", "--print", "--file", "-Command", "-File"})


def interpreter(name: str) -> str | None:
    """The name under which a program that runs code is known here; None for every other program."""
    versioned = _VERSIONED.match(name)
    known = versioned[1] if versioned else name
    return known if known in SHELLS or known in _CODE_LETTERS else None


def reads_code(name: str, arguments: Sequence[Word]) -> bool:
    """Whether its input is what it runs: it has neither code nor a script among its arguments."""
    if name in SHELLS:
        return _shell_reads(arguments)
    letters, valued = _CODE_LETTERS[name], _VALUED.get(name, frozenset())
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in _STANDARD_INPUT:
            return True
        if text in _HELP or text.partition("=")[0] in _CODE_WORDS or _has_letter(text, letters):
            return False
        if text in valued:
            next(rest, None)
        elif not text.startswith("-") and (name, text) not in _SUBCOMMANDS:
            return False
    return True


def command_line(arguments: Sequence[Word]) -> Word | None:
    """The line that a shell gets with `-c`, wherever its flags stand."""
    asked = False
    rest = iter(arguments)
    for argument in rest:
        text = argument.text
        if text in _SHELL_VALUED:
            next(rest, None)
        elif text.startswith(("-", "+")) and len(text) > 1 and text != "--":
            asked |= _has_letter(text, "c")
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
        if text in _STANDARD_INPUT or (_has_letter(text, "s") and text.startswith("-")):
            return True
        if text in _HELP:
            return False
        if text in _SHELL_VALUED:
            next(rest, None)
        elif not text.startswith(("-", "+")):
            return False
    return True


def _has_letter(text: str, letters: str) -> bool:
    """Not in flags that have their value in the same word: perl's `-Mfeature`, python's `-Werror`."""
    return re.match(r"-[A-HJ-LN-VY-Za-z]", text) is not None and any(letter in text[1:] for letter in letters)
