"""What a grant for some arguments alone goes by, and the files that a command names. Runs nothing.

Whatever is not certain is nothing: then a grant cannot be narrowed, and one that is does not cover it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import partial
from hashlib import file_digest, sha256
from os import fstat
from os.path import isfile, realpath
from pathlib import Path, PurePath
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


MOST_FILES = 64
LARGEST_SCRIPT_BYTES = 16 << 20
_WORD = re.compile(r"[^\s'\"`;|&<>()$=]+")


def scripts_in(workspace: Path, call: ToolCall) -> str:
    """The digest of all files that a command line names in whatever way, and of the one that a call writes: people
    have seen what it makes of that; empty: none. Blocks."""
    said = call.arguments.get(FILES_IN.get(call.name, ""))
    words = (_words(said) if call.name == BASH.name else [said]) if isinstance(said, str) else ()
    files = [(word, path) for word in words if isfile(path := workspace / word)][:MOST_FILES]
    return files_digest([(word, _contents(path)) for word, path in files])


def _words(command: str) -> Iterable[str]:
    """With what a shell would make of quotes, where it would make something of them: a name may have blanks."""
    lexer = shlex(command, posix=True, punctuation_chars=True)
    lexer.commenters, lexer.whitespace_split = "", True
    quoted = list[str]()
    with suppress(ValueError):
        quoted.extend(lexer)
    return dict.fromkeys((*_WORD.findall(command), *quoted))


def files_digest(files: Sequence[tuple[str, str]]) -> str:
    """Of files as a call names them, each with the digest of what it holds; empty: there are none."""
    digest = sha256()
    for word, contents in files:
        digest.update(f"{word}\0{contents}\0".encode("utf-8", "replace"))
    return digest.hexdigest() if files else ""


def _contents(path: Path) -> str:
    """What a file that large holds is no script: it goes by what the file system says of it."""
    try:
        with path.open("rb") as file:
            known = fstat(file.fileno())
            if known.st_size > LARGEST_SCRIPT_BYTES:
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
