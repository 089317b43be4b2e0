"""Asks ripgrep which files may match, where a tree is large. What is in them is read by ourselves.

So both ways find the same, and nothing is shown that a descriptor inside the workspace did not lead to. What ripgrep
may overlook: lines that match only by a carriage return within them, or by bytes that are no UTF-8.
"""

from __future__ import annotations

import os
import subprocess
from typing import TypeAlias

from hookgate.tools.search.query import Query
from hookgate.tools.search.walk import Lister, Named, named

Tree: TypeAlias = "dict[str, Tree | None]"
"""Folders by name; a file is None."""

_NO_NAMES = frozenset({"", ".", ".."})

# Only the workspace's own .gitignore files count, as in our own walk; those above are applied there.
_ARGUMENTS = (
    *("--no-config", "--color=never", "--files-with-matches", "--null", "--crlf"),
    *("--no-ignore-parent", "--no-ignore-global", "--no-ignore-exclude", "--no-ignore-dot", "--no-require-git"),
)


def candidates(folder: int, query: Query) -> tuple[Tree, int] | None:
    """The files below `folder`, and how many things could not be read; None where ripgrep cannot tell.

    Changes this process' working folder.
    """
    os.fchdir(folder)
    try:
        ended = _run(_argv(query), query.rg_patience_s)
    except (OSError, ValueError, subprocess.TimeoutExpired):
        # ValueError: a zero byte in the pattern, which no command line can hold. Version 13 hangs on `\B$`.
        return None
    problems = ended.stderr.splitlines()
    # Status 2 is also said of a tree with one unreadable file in it.
    if ended.returncode not in (0, 1, 2) or not all(b"(os error " in line for line in problems):
        return None
    # A file that is gone already is no file.
    skipped = sum(b"(os error 2)" not in line for line in problems)
    return tree(os.fsdecode(ended.stdout).split("\0")[:-1], query.prefix), skipped


def _run(argv: list[str], patience_s: float) -> subprocess.CompletedProcess[bytes]:
    quiet = subprocess.DEVNULL
    return subprocess.run(argv, stdin=quiet, capture_output=True, env={}, check=False, timeout=patience_s)


def _argv(query: Query) -> list[str]:
    argv = [query.rg, *_ARGUMENTS, "--ignore-case" if query.ignore_case else "--case-sensitive"]
    argv += ["--hidden"] if query.hidden else []
    argv += ["--no-ignore"] if query.ignored else []
    argv += ["--fixed-strings"] if query.literal else []
    # To ripgrep ? and sets are one byte, so it would leave out names that they match; we choose again anyway.
    argv += [f"--glob={query.glob}"] if query.glob and not set("?[") & set(query.glob) else []
    return [*argv, f"--regexp={query.pattern}", "."]


def tree(paths: list[str], prefix: str = "") -> Tree:
    """The files at these paths, which may begin with `./`, below the folders of `prefix`."""
    top: Tree = {}
    for path in paths:
        *folders, name = (prefix + path.removeprefix("./")).split("/")
        # Only names may be opened below a folder: these would lead out of it.
        if not _NO_NAMES.isdisjoint([*folders, name]):
            continue
        at = top
        for folder in folders:
            inner = at.get(folder)
            if inner is None:
                inner = at[folder] = {}
            at = inner
        at[name] = None
    return top


def lister(top: Tree) -> Lister:
    """Lists the tree instead of the folder: a walk that only sees those files."""

    def listed(_folder: int, prefix: str) -> list[Named]:
        at = top
        for part in prefix.split("/")[:-1]:
            at = at.get(part) or {}
        return sorted(named(name, "file" if inner is None else "folder") for name, inner in at.items())

    return listed
