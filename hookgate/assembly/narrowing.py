"""What a grant for some arguments alone goes by, and the files that a command names. Runs nothing.

Whatever is not certain is nothing: then a grant cannot be narrowed, and one that is does not cover it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial
from hashlib import file_digest, sha256
from itertools import pairwise
from os import fstat
from os.path import isfile, join, realpath
from pathlib import Path, PurePath
from secrets import token_hex
from shlex import shlex
from typing import TYPE_CHECKING

from hookgate.tools.builtin.bash import SPEC as BASH
from hookgate.tools.names import SEND_FILE

if TYPE_CHECKING:
    from hookgate.approvals.grants import Parts
    from hookgate.protocol.values import ToolCall

FILES_IN = {BASH.name: "command", "write": "path", "edit": "path"}
"""By tool, the argument that names files which a yes is bound to."""
WITH_A_PATH = frozenset({"read", "write", "edit", "ls", "grep", "glob", SEND_FILE})


def parts_in(workspace: Path) -> Parts:
    return partial(_parts, workspace)


def _parts(workspace: Path, call: ToolCall) -> tuple[str, ...] | None:
    if call.name == BASH.name:
        command = call.arguments.get("command")
        return plain_words(command) if isinstance(command, str) else None
    path = call.arguments.get("path")
    if call.name not in WITH_A_PATH or not isinstance(path, str) or not path or path.startswith("~"):
        return None
    # Where it leads, as the tools go: a link, or `..` behind one, leaves a folder that its name lies in.
    try:
        return PurePath(realpath(workspace / path)).parts
    except ValueError:
        return None


MOST_READ = 64
"""Files of one call; any more go by what the file system says of them."""
MOST_LOOKED_FOR = 1_000_000
LARGEST_SCRIPT_BYTES = 16 << 20
_WORD = re.compile(r"[^\s'\"`;|&<>()$=]+")
_GOES = frozenset({"cd", "chdir", "pushd", "-C", "-D", "--chdir", "--directory"})
"""Behind these stands the folder in which what follows is run."""


def scripts_in(workspace: Path, call: ToolCall) -> str:
    """The digest of all files that a command line names in whatever way, from the workspace or from a folder that it
    goes to, and of the one that a call writes: people have seen what it makes of that; empty: none. Blocks."""
    said = call.arguments.get(FILES_IN.get(call.name, ""))
    if not isinstance(said, str):
        return ""
    written = call.name != BASH.name
    words, folders = ({said: None}, {"": None}) if written else _words(said)
    if len(words) * len(folders) > MOST_LOOKED_FOR:
        # Never the same: nobody could tell what a yes to it would be for.
        return token_hex()
    paths = dict.fromkeys(join(folder, word) for folder in folders for word in words)
    files = [(name, path) for name in paths if isfile(path := workspace / name)]
    return files_digest([(name, _contents(path, read=at < MOST_READ)) for at, (name, path) in enumerate(files)])


def _words(command: str) -> tuple[Mapping[str, None], Mapping[str, None]]:
    """With what a shell would make of quotes, where it would make something of them: a name may have blanks. And the
    folders that it goes to, from the workspace and from each other; the workspace itself is the first."""
    lexer = shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    plain, quoted, folders = _WORD.findall(command), list[str](), {"": None}
    with suppress(ValueError):
        quoted.extend(lexer)
    for words in (plain, quoted):
        here = ""
        for before, word in pairwise(it for it in words if it in _GOES or not it.startswith("-")):
            if before in _GOES:
                here = join(here, word)
                folders |= dict.fromkeys((word, here))
    return dict.fromkeys((*plain, *quoted)), folders


def files_digest(files: Sequence[tuple[str, str]]) -> str:
    """Of files as a call names them, each with the digest of what it holds; empty: there are none."""
    digest = sha256()
    for word, contents in files:
        digest.update(f"{word}\0{contents}\0".encode("utf-8", "replace"))
    return digest.hexdigest() if files else ""


def _contents(path: Path, *, read: bool) -> str:
    """What a file that large holds is no script: it goes by what the file system says of it."""
    try:
        with path.open("rb") as file:
            known = fstat(file.fileno())
            if not read or known.st_size > LARGEST_SCRIPT_BYTES:
                return f"{known.st_ino} {known.st_size} {known.st_mtime_ns}"
            return file_digest(file, "sha256").hexdigest()
    except OSError:
        return ""


def plain_words(line: str) -> tuple[str, ...] | None:
    """Of a line that is one command and nothing else: no operator or redirection, nothing that the shell fills in."""
    from hookgate.guards.shell.tree import parsed, too_much, word

    root = None if too_much(line) or "\n" in line else parsed(line)
    if root is None or [child.type for child in root.children] != ["command"]:
        return None
    nodes = root.children[0].children
    words = [word(node) for node in nodes]
    usual = {"command_name", "word", "number", "string", "raw_string", "concatenation"}
    if any(node.type not in usual for node in nodes) or any(it.dynamic for it in words):
        return None
    return tuple(it.text for it in words)
