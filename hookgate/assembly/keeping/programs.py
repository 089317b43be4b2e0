"""What a configured command line runs: its files, what they import from beside them, the interpreter that reads them.

Guesses from the words alone and from what is there; starts nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from hookgate.processes.interpreters import INTERPRETERS, PROJECT_TOOLS, SCRIPT_SUFFIXES, SHELLS, program_name
from hookgate.processes.pipes import Runnable
from hookgate.tools.kept import real

_BINARIES = frozenset({"bin", ".bin", "Scripts"})
"""Names of folders that hold the programs of what lies round them: a virtual environment, `node_modules`."""
_LOADED_FROM = (
    *("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "NODE_PATH", "PERL5LIB", "RUBYLIB", "LUA_PATH", "CLASSPATH"),
    *("LD_PRELOAD", "LD_LIBRARY_PATH"),
)
_RUNS_FOLDERS = (INTERPRETERS.keys() - SHELLS) | PROJECT_TOOLS
_FIRST_LINE_BYTES = 256


def brought_by(program: Runnable, workspace: Path) -> Iterator[Path]:
    """The files and folders whose change would change what runs, there or not, wherever they lie. Blocks."""
    directory = Path(program.directory)
    for word in program.command:
        for part in {word, word.partition("=")[2]} - {""}:
            yield from _file(directory / part, workspace)
            # By os.path, here and below: code and other long arguments are no names, and pathlib fails at them.
            if _runs_folders(program) and os.path.isdir(directory / part):
                yield directory / part
    yield from _modules(program)
    for word in _looked_up(program):
        yield from _found(word, program, workspace)
    for name in _LOADED_FROM:
        folders = program.environment.get(name, "").split(os.pathsep)
        yield from (directory / folder for folder in folders if folder)


def _file(path: Path, workspace: Path) -> Iterator[Path]:
    """A script and its folder: what lies beside it is what it imports. Nothing of a word that names no file."""
    if path.suffix not in SCRIPT_SUFFIXES and not os.path.isfile(path):
        return
    yield path
    folder = path.parent.resolve()
    if folder != workspace:
        yield folder
    yield from _prefix(path)


def _runs_folders(program: Runnable) -> bool:
    """Whether a folder that it is given is a program; to others it may be what they work on."""
    return any(program_name(word) in _RUNS_FOLDERS for word in _looked_up(program))


def _prefix(path: Path) -> Iterator[Path]:
    """All that belongs to an interpreter: packages, `.pth` files."""
    folder = real(path).parent
    if folder.name in _BINARIES:
        yield folder.parent


def _modules(program: Runnable) -> Iterator[Path]:
    """`-m hooks.guard`: the folder `hooks`, or the file that is found first."""
    words = iter(program.command)
    for word in words:
        name = next(words, "") if word == "-m" else ""
        top = name.partition(".")[0]
        if top.isidentifier():
            yield from (Path(program.directory, name) for name in (top, f"{top}.py"))


def _looked_up(program: Runnable) -> Iterator[str]:
    """Names of programs that are found on PATH: the first word, what `env` starts, what a first line says."""
    for line in (program.command, _first_line(program)):
        for word in line:
            yield word
            if Path(word).name != "env" and not word.startswith("-") and "=" not in word:
                break


def _first_line(program: Runnable) -> list[str]:
    with suppress(OSError, ValueError), (Path(program.directory) / program.command[0]).open("rb") as file:
        line = file.readline(_FIRST_LINE_BYTES).decode("utf-8", "replace")
        return shlex.split(line.removeprefix("#!")) if line.startswith("#!") else []
    return []


def _found(word: str, program: Runnable, workspace: Path) -> Iterator[Path]:
    """Where it is found, and the folders of the workspace that are searched before: what is put there wins."""
    if "/" in word:
        yield from _prefix(Path(program.directory) / word)
        return
    for entry in program.environment.get("PATH", os.defpath).split(os.pathsep):
        path = Path(program.directory) / entry / word
        if real(path).is_relative_to(workspace):
            yield path.parent
            yield from _prefix(path)
        if os.access(path, os.X_OK) and path.is_file():
            return
