"""The tool `edit`: exact replacements in one file, all or none. Where and how is in `diff.py`."""

from __future__ import annotations

from functools import partial

import trio

from hookgate.protocol.edits import Replacement, replacements
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import FileEffect
from hookgate.tools import arguments
from hookgate.tools.builtin.diff import applied, lf, locate, rows
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened, replace, version
from hookgate.tools.files.observe_paths import shown_path
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.schema.objects import gives, takes

MAX_FILE_BYTES = 16 * 1024 * 1024

SPEC = ToolSpec(
    name="edit",
    description=(
        "Replace exact pieces of a file of the workspace. Every oldText must occur exactly once in the file as it "
        "is now; all edits of a call apply together or not at all. The answer is a diff."
    ),
    parameters=takes(
        "path",
        "edits",
        path={"type": "string", "description": "The file, relative to the workspace or absolute inside it."},
        edits={
            "type": "array",
            "description": "The replacements; they must not overlap.",
            "items": takes(
                "oldText",
                "newText",
                oldText={"type": "string", "description": "What stands there now, blanks included."},
                newText={"type": "string", "description": "What shall stand there instead."},
            ),
        },
    ),
    mutates=True,
    affects_workspace=True,
    access="write",
    output_schema=gives(path={"type": "string"}, bytes={"type": "integer"}),
)


class Edit:
    def __init__(self, workspace: Workspace) -> None:
        self.spec = SPEC
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        path = arguments.required(call, "path")
        edits = replacements(call.arguments)
        text, effect = await trio.to_thread.run_sync(partial(_edit, self._workspace, path, edits))
        return ToolResult(text, data={"path": effect.path, "bytes": effect.bytes_after}, effects=(effect,))


def _edit(workspace: Workspace, path: str, edits: tuple[Replacement, ...]) -> tuple[str, FileEffect]:
    place = workspace.place(path, "edit")
    with opened(workspace, place, "edit") as file:
        before = version(file)
        data = file.read(MAX_FILE_BYTES + 1)
    if len(data) > MAX_FILE_BYTES:
        raise ToolError("budget", "edit", f"{path} has more than {MAX_FILE_BYTES} bytes")
    # surrogateescape: bytes that are no UTF-8 survive an edit elsewhere in the file.
    original = data.decode("utf-8", "surrogateescape")
    text = lf(original)
    spans = locate(text, edits, path)
    changed = applied(original, spans).encode("utf-8", "surrogateescape")
    replace(workspace, place, changed, before)
    return rows(text, spans), FileEffect("modify", shown_path(place.parts), bytes_after=len(changed))
