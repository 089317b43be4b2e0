"""The tool `ls`: the names in one folder. Changes nothing."""

from __future__ import annotations

from functools import partial

import trio

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools import arguments
from hookgate.tools.builtin.finding import SHOW_HIDDEN, TRUNCATED, finding_spec
from hookgate.tools.files.listing import Listed, listing
from hookgate.tools.files.workspace import Workspace, WorkspacePath
from hookgate.tools.output import EMPTY, OUTPUT_ARGUMENT, Form, Items, as_object, form_of, result
from hookgate.tools.schema.objects import gives, takes

SPEC = finding_spec(
    name="ls",
    description="List a folder of the workspace: one sorted name a line, folders with a slash at the end.",
    arguments=takes(
        path={"type": "string", "description": "The folder; the workspace itself if left out."},
        show_hidden=SHOW_HIDDEN,
        output=OUTPUT_ARGUMENT,
    ),
    found=gives(
        path={"type": "string"},
        count={"type": "integer"},
        entries={
            "type": "array",
            "items": gives(
                name={"type": "string"},
                type={"enum": ["file", "folder", "link", "other"]},
                size={"type": ["integer", "null"]},
            ),
        },
        truncated=TRUNCATED,
    ),
)


class Ls:
    """Its labeled form has no header: prompts and guards know the bare names, and match them."""

    def __init__(self, workspace: Workspace, default_output: Form = "labeled") -> None:
        self.spec = SPEC
        self._workspace = workspace
        self._default: Form = default_output

    async def execute(self, call: ToolCall) -> ToolResult:
        form = form_of(call, self._default)
        path, hidden = arguments.text(call, "path") or ".", arguments.flag(call, "show_hidden")
        # Abandoned when cancelled: a folder on a dead network disk may never answer.
        place, found = await trio.to_thread.run_sync(
            partial(_found, self._workspace, path, hidden=hidden), abandon_on_cancel=True
        )
        items = _items(place, found)
        if form == "json":
            return result(items, form)
        return ToolResult("\n".join(items.lines) or EMPTY, data=as_object(items))


def _found(workspace: Workspace, path: str, *, hidden: bool) -> tuple[WorkspacePath, tuple[Listed, ...]]:
    place = workspace.place(path, "ls")
    return place, listing(workspace, place, hidden=hidden)


def _items(place: WorkspacePath, found: tuple[Listed, ...]) -> Items:
    return Items(
        header="",
        lines=[f"{it.name}/" if it.folder else it.name for it in found],
        key="entries",
        objects=[{"name": it.name, "type": it.type, "size": it.size} for it in found],
        members={"path": "/".join(place.parts) or ".", "count": len(found)},
    )
