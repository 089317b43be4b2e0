"""Whether a command can be started: its folder, its program, and the script that it is given."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from shutil import which

from hookgate.processes.pipes import Runnable

_INTERPRETERS = re.compile(r"(?:python|pypy|perl|ruby|node|nodejs|deno|bun|php|lua|bash|dash|zsh|sh|Rscript)[0-9.]*")
_SCRIPT = re.compile(r"[^\s=:]+\.(?:py|pyz|pl|rb|js|mjs|cjs|ts|mts|php|lua|sh|bash|zsh|r|R|jar|jq|awk|tcl)")
_CODE = {"-c", "-e", "-m", "-p", "-E", "-r", "--eval", "--print", "-"}
"""What follows one of these is code, or a module."""


def missing(program: Runnable) -> str:
    """Which key names what is not there, and what that is; empty where all is."""
    folder, first = Path(program.directory), program.command[0]
    if not folder.is_dir():
        return f"dir: {folder} is not a folder"
    if "/" in first:
        path = folder / first
        if not path.exists():
            return f"command: {first!r} cannot be found"
        if not (path.is_file() and os.access(path, os.X_OK)):
            return f"command: {first!r} is not executable"
    elif not which(first, path=program.environment.get("PATH")):
        return f"command: {first!r} cannot be found"
    gone = next((word for word in _scripts(program.command) if not os.path.exists(folder / word)), "")
    return f"command: {gone!r} is not there" if gone else ""


def _scripts(command: tuple[str, ...]) -> Iterator[str]:
    """The arguments that look like files that are read: the first of an interpreter, and scripts by their names."""
    interprets, before = False, False
    for number, word in enumerate(command):
        if interprets and word in _CODE:
            return
        if number and not word.startswith("-") and (_SCRIPT.fullmatch(word) or (before and _plain(word))):
            yield word
        before = bool(_INTERPRETERS.fullmatch(Path(word).name))
        interprets = interprets or before


def _plain(word: str) -> bool:
    return bool(word) and not any(mark.isspace() or mark in "=:" for mark in word)
