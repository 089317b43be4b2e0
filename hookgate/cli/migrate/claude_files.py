"""The files that a shell command names, as far as its words tell. Does not know what they are for."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path

_VARIABLE = re.compile(r"\$(?:\{(\w+)[^}]*\}|(\w+))")
_DEEPEST = 3


def named_files(command: str, project: Path) -> list[Path]:
    """Those that exist. Relative ones count from the project, and from folders that the command names, for `cd`."""
    known = {"CLAUDE_PROJECT_DIR": str(project), "PWD": str(project), "HOME": str(Path.home())}
    words = [word for word in dict.fromkeys(_words(command, known, _DEEPEST)) if "\0" not in word]
    folders = [project, *(project / word for word in words if _there(Path.is_dir, project / word))]
    found = (folder / word for word in words for folder in folders)
    return [path for path in dict.fromkeys(found) if _there(Path.is_file, path)]


def _words(command: str, known: Mapping[str, str], depth: int) -> Iterator[str]:
    """Also those within a word: of `sh -c '...'`, and behind `=`."""
    lexer = shlex.shlex(command, posix=True, punctuation_chars=True)
    lexer.whitespace_split, lexer.commenters = True, ""
    try:
        words = list(lexer)
    except ValueError:
        words = re.split(r"[\s'\"`();<>|&]+", command)
    for word in words:
        yield (whole := _expanded(word, known))
        if "=" in whole:
            yield _expanded(whole.partition("=")[2], known)
        if depth and re.search(r"[\s'\"`]", word):
            yield from _words(word, known, depth - 1)


def _expanded(word: str, known: Mapping[str, str]) -> str:
    word = _VARIABLE.sub(lambda found: known.get(found[1] or found[2], found[0]), word)
    return str(Path.home()) + word[1:] if word == "~" or word.startswith("~/") else word


def _there(kind: Callable[[Path], bool], path: Path) -> bool:
    # A word too long for a name, or in a folder that is closed, names none.
    with suppress(OSError):
        return kind(path)
    return False
