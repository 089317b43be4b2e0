"""Searches the workspace in a process of its own, within a deadline. Knows no pattern and no form of output."""

from __future__ import annotations

import os
import stat
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from hookgate.processes.command import Command
from hookgate.processes.once import run_once
from hookgate.tools.errors import ToolError
from hookgate.tools.files.workspace import Workspace, WorkspacePath, naming
from hookgate.tools.search.query import Query, SearchResult

DEADLINE_S = 30.0
# More than the most that a query may ask for.
_MAX_ANSWER_BYTES = 32 * 1024 * 1024

# Appended, so that nothing of ours hides a module of Python's.
_START = "import sys; sys.path += sys.argv[2:]; from hookgate.tools.search.child import main; main()"


async def search(query: Query, op: str, deadline_s: float = DEADLINE_S) -> SearchResult:
    """What the query finds. Cancelled or too late, its process group is killed and reaped before this leaves.

    Raises ToolError: validation for a pattern that does not compile, budget where the time was up.
    """
    argv = [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, query.encoded(), *_import_paths()]
    # Not hookgate's environment, whose keys other processes of this user could read there.
    printed = await run_once(Command(argv, Path("/"), {}, deadline_s), max_bytes=_MAX_ANSWER_BYTES)
    if printed.status is None:
        raise ToolError("budget", op, f"not done after {deadline_s:g} s; name a smaller folder or fewer files")
    if printed.overflowed:
        raise ToolError("budget", op, "the result is too large; ask for fewer lines")
    found = SearchResult.decoded(printed.output) if printed.output else SearchResult()
    if printed.status:
        reason = found.fault or f"its process ended with status {printed.status}"
        raise ToolError("transient", op, f"the search failed: {reason}")
    if found.fault:
        raise ToolError("validation", op, found.fault)
    return found


def target(workspace: Workspace, path: str, op: str) -> tuple[WorkspacePath, bool]:
    """What is to be searched, and whether it is a folder. Raises as the workspace does. Blocks."""
    place = workspace.place(path, op)
    workspace.refuse_hidden(place, op)
    with workspace.folder(place, op) as folder, naming(place, op):
        mode = os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise ToolError("validation", op, f"{path} is neither a file nor a folder")
    return place, stat.S_ISDIR(mode)


@cache
def _import_paths() -> tuple[str, ...]:
    """Where the process finds hookgate and the engine of regular expressions; nothing else is on its path."""
    specs = (find_spec(name) for name in ("pydantic_core", "typing_extensions"))
    origins = [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]
    engine, typing = origins
    return tuple(dict.fromkeys((str(Path(__file__).parents[3]), str(engine.parents[1]), str(typing.parent))))
