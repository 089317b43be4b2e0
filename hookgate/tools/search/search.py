"""Searches the workspace in a process of its own, within a deadline. Knows no pattern and no form of output."""

from __future__ import annotations

import os
import shutil
import signal
import stat
import subprocess
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import trio

from hookgate.tools.errors import ToolError
from hookgate.tools.files.workspace import Place, Workspace, naming
from hookgate.tools.search.query import Found, Query

DEADLINE_S = 30.0
# More than the most that a query may ask for.
_MAX_ANSWER_BYTES = 32 * 1024 * 1024
_CHUNK_BYTES = 256 * 1024
_REAP_DEADLINE_S = 5.0

# Appended, so that nothing of ours hides a module of Python's.
_START = "import sys; sys.path += sys.argv[2:]; from hookgate.tools.search.child import main; main()"


async def search(query: Query, op: str, deadline_s: float = DEADLINE_S) -> Found:
    """What the query finds. Cancelled or too late, its process group is killed and reaped before this leaves.

    Raises ToolError: validation for a pattern that does not compile, budget where the time was up.
    """
    with trio.move_on_after(deadline_s):
        found = Found.decoded(await _answer(query, op))
        if found.fault:
            raise ToolError("validation", op, found.fault)
        return found
    raise ToolError("budget", op, f"not done after {deadline_s:g} s; name a smaller folder or fewer files")


def target(workspace: Workspace, path: str, op: str) -> tuple[Place, bool]:
    """What is to be searched, and whether it is a folder. Raises as the workspace does. Blocks."""
    place = workspace.place(path, op)
    with workspace.folder(place, op) as folder, naming(place, op):
        mode = os.stat(place.name, dir_fd=folder, follow_symlinks=False).st_mode
    if not stat.S_ISDIR(mode) and not stat.S_ISREG(mode):
        raise ToolError("validation", op, f"{path} is neither a file nor a folder")
    return place, stat.S_ISDIR(mode)


def ripgrep(workspace: Workspace, environment: Mapping[str, str]) -> str:
    """Where `rg` is, or nothing. Not inside the workspace: what lies there the model may have written."""
    folders = [folder for folder in environment.get("PATH", "").split(os.pathsep) if os.path.isabs(folder)]
    found = shutil.which("rg", path=os.pathsep.join(folders)) if folders else None
    if found is None or Path(os.path.realpath(found)).is_relative_to(workspace.root):
        return ""
    return found


async def _answer(query: Query, op: str) -> bytes:
    process = await trio.lowlevel.open_process(
        [sys.executable, "-I", "-S", "-X", "utf8", "-c", _START, query.encoded(), *_import_paths()],
        # Not hookgate's, whose keys other processes of this user could read there.
        env={},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    assert process.stdout is not None  # noqa: S101 - it is a pipe, as asked for just above
    try:
        async with process.stdout as output:
            answer = await _all(output, op)
            await process.wait()
    finally:
        with trio.move_on_after(_REAP_DEADLINE_S, shield=True):
            await _end(process)
    if process.returncode:
        reason = Found.decoded(answer).fault if answer else f"its process ended with status {process.returncode}"
        raise ToolError("transient", op, f"the search failed: {reason}")
    return answer


async def _all(output: trio.abc.ReceiveStream, op: str) -> bytes:
    chunks: list[bytes] = []
    size = 0
    while chunk := await output.receive_some(_CHUNK_BYTES):
        chunks.append(bytes(chunk))
        size += len(chunk)
        if size > _MAX_ANSWER_BYTES:
            raise ToolError("budget", op, "the result is too large; ask for fewer lines")
    return b"".join(chunks)


async def _end(process: trio.Process) -> None:
    if process.returncode is not None:
        return
    # ripgrep, which it may have started, is in the same group.
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()


@cache
def _import_paths() -> tuple[str, ...]:
    """Where the process finds hookgate and the engine of regular expressions; nothing else is on its path."""
    specs = (find_spec(name) for name in ("pydantic_core", "typing_extensions"))
    origins = [Path(spec.origin) for spec in specs if spec is not None and spec.origin is not None]
    engine, typing = origins
    return tuple(dict.fromkeys((str(Path(__file__).parents[3]), str(engine.parents[1]), str(typing.parent))))
