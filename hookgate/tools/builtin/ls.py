"""The tool `ls`: the names in one folder. Changes nothing."""

from __future__ import annotations

import os
from functools import partial

import trio

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.workspace import Place, Workspace, naming

SPEC = ToolSpec(
    name="ls",
    description="List a folder of the workspace: one sorted name a line, folders with a slash at the end.",
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The folder; the workspace itself if left out."},
            "show_hidden": {"type": "boolean", "description": "Also names that begin with a dot. Default false."},
        },
        "additionalProperties": False,
    },
    mutates=False,
    affects_workspace=False,
)


class Ls:
    def __init__(self, workspace: Workspace) -> None:
        self.spec = SPEC
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        path, hidden = arguments.text(call, "path") or ".", arguments.flag(call, "show_hidden")
        names = await trio.to_thread.run_sync(partial(_names, self._workspace, path), abandon_on_cancel=True)
        shown = [name for name in names if hidden or not name.startswith(".")]
        return ToolResult("\n".join(shown) or "(empty)")


def _names(workspace: Workspace, path: str) -> list[str]:
    place = workspace.place(path, "ls")
    with workspace.folder(place, "ls") as parent, naming(place, "ls"):
        descriptor = _open(parent, place)
        try:
            with os.scandir(descriptor) as entries:
                return sorted(_line(entry) for entry in entries)
        finally:
            os.close(descriptor)


def _open(parent: int, place: Place) -> int:
    try:
        return os.open(place.name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    except NotADirectoryError:
        raise ToolError("validation", "ls", f"{place.shown} is not a directory") from None


def _line(entry: os.DirEntry[str]) -> str:
    # A line break in a name would pass for two names.
    name = entry.name.replace("\n", "\\n").replace("\r", "\\r")
    return f"{name}/" if entry.is_dir() else name
