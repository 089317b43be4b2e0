"""Which files of the workspace a call names, in its arguments or in the words of its command line. Changes nothing.

Guesses freely: a word that is no file costs one look, and a file that nobody touched is never told of.
"""

from __future__ import annotations

import fnmatch
import os
import re
import shlex
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from itertools import islice, pairwise
from pathlib import Path

from hookgate.protocol.values import Json, ToolCall
from hookgate.tools.files.workspace import Workspace

MAX_NAMED = 500
_MAX_WORDS = 2000
_MAX_WORD = 1024
_MAX_LINE = 16 * 1024
_MAX_GLOBBED = 2000
_COMMAND_TOOL = "bash"
_BARE_WORDS = re.compile(r"[^\s'\"`()<>|;&=,:\[\]{}]+")
_GLOB = re.compile(r"[*?\[]")

Parts = tuple[str, ...]


def named_paths(workspace: Workspace, call: ToolCall) -> tuple[Parts, ...]:
    """The places below the root that the call names, whether something is there or not. Blocks.

    A link is named, and so is where it leads; what leads out of the workspace is not. Of more than 500 places
    those come first where something is, then those that look like the name of a file.
    """
    words = islice(_candidates(workspace, call), _MAX_WORDS)
    places = dict.fromkeys(parts for word in words for parts in _places(workspace.root, word))
    if len(places) <= MAX_NAMED:
        return tuple(places)
    return tuple(sorted(places, key=lambda parts: _rank(workspace.root, parts))[:MAX_NAMED])


def shown_path(parts: Parts) -> str:
    """With slashes; `.` for the root. Bytes that are no UTF-8 are written `\\xNN`."""
    return os.fsencode("/".join(parts)).decode("utf-8", "backslashreplace") or "."


def _rank(root: Path, parts: Parts) -> int:
    if os.path.lexists(root.joinpath(*parts)):
        return 0
    return 1 if len(parts) > 1 or "." in "".join(parts) else 2


def _candidates(workspace: Workspace, call: ToolCall) -> Iterator[str]:
    line = call.arguments.get("command")
    if call.name == _COMMAND_TOOL and isinstance(line, str):
        yield from _command_words(workspace.root, line)
        return
    yield from (text for text in _strings(call.arguments) if _may_be_path(text))


def _strings(value: Json) -> Iterator[str]:
    match value:
        case str():
            yield value
        case Mapping():
            for inner in value.values():
                yield from _strings(inner)
        case list() | tuple():
            for inner in value:
                yield from _strings(inner)
        case _:
            pass


def _may_be_path(text: str) -> bool:
    return 0 < len(text) <= _MAX_WORD and "\n" not in text and "\0" not in text


def _places(root: Path, word: str) -> Iterator[Parts]:
    path = os.path.normpath(os.path.join(root, word))
    try:
        # The folder is resolved, the last part is not: `rm LINK` removes the link, `> LINK` writes where it leads.
        places = (
            os.path.join(os.path.realpath(os.path.dirname(path)), os.path.basename(path)),
            os.path.realpath(path),
        )
    except (OSError, ValueError):
        return
    for place in places:
        relative = os.path.relpath(place, root)
        if relative != ".." and not relative.startswith("../"):
            yield () if relative == "." else tuple(relative.split("/"))


# --- command lines ------------------------------------------------------------------------------------------


def _command_words(root: Path, line: str) -> Iterator[str]:
    """Every word, as a path from the workspace and from each folder that the line goes to."""
    words = list(dict.fromkeys(filter(_may_be_path, _words(line[:_MAX_LINE]))))
    for folder in ("", *_gone_to(words)):
        for word in words:
            yield from _globbed(root, os.path.join(folder, word))


def _words(line: str) -> list[str]:
    """As the shell splits them, and then every run of characters that may be a name: quotes hide whole programs."""
    try:
        split = shlex.shlex(line, posix=True, punctuation_chars=True)
        split.whitespace_split, split.commenters = True, ""
        quoted = list(split)
    except ValueError:
        quoted = []
    return [*quoted, *_BARE_WORDS.findall(line)]


def _gone_to(words: Iterable[str]) -> list[str]:
    return [after for word, after in pairwise(words) if word in ("cd", "-C", "pushd")][:4]


def _globbed(root: Path, word: str) -> Iterator[str]:
    """What a pattern in the last part stands for now: once the command has run, the names may be gone."""
    folder, name = os.path.split(word)
    if not _GLOB.search(name) or _GLOB.search(folder):
        yield word
        return
    with suppress(OSError), os.scandir(root / folder) as entries:
        names = [entry.name for entry in islice(entries, _MAX_GLOBBED)]
        yield from (os.path.join(folder, it) for it in fnmatch.filter(names, name))
