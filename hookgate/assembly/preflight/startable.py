"""Whether a command can be started: its folder, its program, and the script that it is given."""

from __future__ import annotations

import os
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from shutil import which

from hookgate.processes.interpreters import INTERPRETERS, SCRIPT_SUFFIXES, Interpreter, gives_code, program_name
from hookgate.processes.pipes import Runnable


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
    gone = next(_absent(program.command, folder), "")
    return f"command: {gone!r} is not there" if gone else ""


def _absent(command: tuple[str, ...], folder: Path) -> Iterator[str]:
    """Which arguments look like files that are read, and are none: the first of an interpreter, and scripts by their
    names. What comes behind code is the code's own."""
    running: Interpreter | None = None
    for before, word in pairwise(command):
        started = INTERPRETERS.get(program_name(before))
        running = started or running
        if running and (word == "-" or gives_code(word, running.code)):
            return
        first = started if started and not started.verb else None
        if _plain(word) and (first or Path(word).suffix in SCRIPT_SUFFIXES):
            ends = ("", *(first.omitted if first else ()))
            if not any(os.path.exists(folder / f"{word}{end}") for end in ends):
                yield word


def _plain(word: str) -> bool:
    return not word.startswith("-") and bool(word) and not any(mark.isspace() or mark in "=:" for mark in word)
