"""The tool `write`: one whole file, its folders included."""

from __future__ import annotations

from functools import partial

import trio

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.files import replace
from hookgate.tools.workspace import Workspace

SPEC = ToolSpec(
    name="write",
    description=(
        "Write a file of the workspace: folders are made as needed, an existing file is overwritten. "
        "The answer is the content that was written. Use edit to change part of a file."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace or absolute inside it."},
            "content": {"type": "string", "description": "Everything that the file shall hold."},
        },
        "required": ["path", "content"],
        "additionalProperties": False,
    },
    mutates=True,
    affects_workspace=True,
)


class Write:
    def __init__(self, workspace: Workspace) -> None:
        self.spec = SPEC
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        path, content = arguments.required(call, "path"), arguments.text(call, "content")
        await trio.to_thread.run_sync(partial(_write, self._workspace, path, content))
        return ToolResult(content)


def _write(workspace: Workspace, path: str, content: str) -> None:
    place = workspace.place(path, "write")
    if not place.parts or path.endswith("/"):
        raise ToolError("validation", "write", f"{path} is a directory")
    replace(workspace, place, content.encode("utf-8", "replace"))
