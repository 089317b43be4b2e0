"""What `write` and `edit` would make of a file as it is now, as a diff for whoever is asked. Writes nothing."""

from __future__ import annotations

import os
from hashlib import sha256

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.edits import replacements
from hookgate.protocol.values import ToolCall
from hookgate.tools import arguments
from hookgate.tools.builtin import edit, write
from hookgate.tools.builtin.diff import applied, lf, locate
from hookgate.tools.errors import ToolError
from hookgate.tools.files.diffs import Content, diff
from hookgate.tools.files.files import opened
from hookgate.tools.files.observe_paths import shown_path
from hookgate.tools.files.workspace import Workspace, WorkspacePath

MAX_FILE_BYTES = 1 << 20
NAMES = frozenset({edit.SPEC.name, write.SPEC.name})


@dataclass(frozen=True, slots=True)
class Preview:
    """`path`: as the call names it. `diff`: lines; empty: `problem` says why there is none. `read`: the SHA-256, in
    hex, of the bytes that it was drawn from; empty: there was no such file; None: it was drawn from none."""

    path: str
    diff: str = ""
    problem: str = ""
    read: str | None = None


def preview(workspace: Workspace, call: ToolCall) -> Preview:
    """Of a call of one of NAMES. Blocks."""
    path = str(call.arguments.get("path"))
    try:
        place = workspace.place(path, call.name)
        workspace.refuse_kept(place, call.name)
        before = _before(workspace, place, call.name)
        after = None if before is not None and before.data is None else _after(call, before, path)
    except ToolError as error:
        return Preview(path, problem=f"The call would fail: {error.reason}.")
    except UnicodeError:
        return Preview(path, problem="The call would fail: its text is none that a file can hold.")
    except OSError as error:
        return Preview(path, problem=f"The call would fail: {error.strerror}.")
    if after is None or len(after) > MAX_FILE_BYTES:
        size = before.size if before is not None else len(after or b"")
        return Preview(path, problem=f"It is too large for a diff ({size:,} bytes).")
    lines = diff(shown_path(place.parts), before, Content(len(after), after))
    read = "" if before is None or before.data is None else sha256(before.data).hexdigest()
    if not lines:
        return Preview(path, "", "The call would change nothing in it.", read)
    # One line alone says that there is no text to compare, or too much.
    return Preview(path, *(("\n".join(lines), "") if len(lines) > 1 else ("", lines[0])), read)


def _before(workspace: Workspace, place: WorkspacePath, op: str) -> Content | None:
    """None: there is no such file."""
    try:
        with opened(workspace, place, op) as file:
            status = os.fstat(file.fileno())
            data = file.read(MAX_FILE_BYTES + 1)
    except FileNotFoundError:
        if op == edit.SPEC.name:
            raise
        return None
    return Content(status.st_size, None if len(data) > MAX_FILE_BYTES else data)


def _after(call: ToolCall, before: Content | None, path: str) -> bytes:
    """Raises ToolError where the call would."""
    if call.name == write.SPEC.name:
        return arguments.text(call, "content").encode("utf-8", "replace")
    data = b"" if before is None or before.data is None else before.data
    original = data.decode("utf-8", "surrogateescape")
    spans = locate(lf(original), replacements(call.arguments), path)
    return applied(original, spans).encode("utf-8", "surrogateescape")
