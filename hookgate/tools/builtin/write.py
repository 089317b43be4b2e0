"""The tool `write`: one whole file, its folders included."""

from __future__ import annotations

import os
from functools import partial

import trio

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import FileEffect
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import replace
from hookgate.tools.files.observe_paths import shown_path
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.schema.objects import gives, takes

SPEC = ToolSpec(
    name="write",
    description=(
        "Write a file of the workspace: folders are made as needed, an existing file is overwritten. "
        "The answer is the content that was written. Use edit to change part of a file."
    ),
    parameters=takes(
        "path",
        "content",
        path={"type": "string", "description": "The file, relative to the workspace or absolute inside it."},
        content={"type": "string", "description": "Everything that the file shall hold."},
    ),
    mutates=True,
    affects_workspace=True,
    access="write",
    output_schema=gives(path={"type": "string"}, bytes={"type": "integer"}),
)


class Write:
    def __init__(self, workspace: Workspace) -> None:
        self.spec = SPEC
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        path, content = arguments.required(call, "path"), arguments.text(call, "content")
        effect = await trio.to_thread.run_sync(partial(_write, self._workspace, path, content))
        return ToolResult(content, data={"path": effect.path, "bytes": effect.bytes_after}, effects=(effect,))


def _write(workspace: Workspace, path: str, content: str) -> FileEffect:
    place = workspace.place(path, "write")
    if not place.parts or path.endswith("/"):
        raise ToolError("validation", "write", f"{path} is a directory")
    data = content.encode("utf-8", "replace")
    existed = os.path.lexists(workspace.root.joinpath(*place.parts))
    replace(workspace, place, data)
    return FileEffect("modify" if existed else "create", shown_path(place.parts), bytes_after=len(data))
