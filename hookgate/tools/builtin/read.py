"""The tool `read`: a text file by lines, or a picture. Changes nothing."""

from __future__ import annotations

from base64 import b64encode
from functools import partial
from pathlib import PurePath
from typing import BinaryIO

import trio

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.schema.objects import takes
from hookgate.tools.text import MAX_BYTES, MAX_LINES, head

# What the model services accept for one picture.
MAX_PICTURE_BYTES = 5 * 1024 * 1024

_SNIFFED_BYTES = 8 * 1024
_BOM = b"\xef\xbb\xbf"
_PICTURES = (".png", ".jpg", ".jpeg", ".gif", ".webp")

SPEC = ToolSpec(
    name="read",
    description=(
        "Read a file of the workspace: text as it is, without line numbers, or a picture (png, jpg, gif, webp). "
        f"At most {MAX_LINES} lines or {MAX_BYTES // 1024} KiB at once; use offset and limit for the rest."
    ),
    parameters=takes(
        "path",
        path={"type": "string", "description": "The file, relative to the workspace or absolute inside it."},
        offset={"type": "integer", "minimum": 1, "description": "First line to read, counted from 1."},
        limit={"type": "integer", "minimum": 1, "description": "How many lines to read."},
    ),
    mutates=False,
    affects_workspace=False,
    pure=True,
)


class Read:
    def __init__(self, workspace: Workspace) -> None:
        self.spec = SPEC
        self._workspace = workspace

    async def execute(self, call: ToolCall) -> ToolResult:
        path = arguments.required(call, "path")
        first, limit = arguments.whole(call, "offset", 1), arguments.whole(call, "limit", 0)
        # Abandoned when cancelled: a file on a dead network disk may never answer.
        return await trio.to_thread.run_sync(
            partial(_read, self._workspace, path, first, limit), abandon_on_cancel=True
        )


def _read(workspace: Workspace, path: str, first: int, limit: int) -> ToolResult:
    with opened(workspace, workspace.place(path, "read"), "read") as file:
        start = file.read(_SNIFFED_BYTES)
        kind = _picture(start)
        if kind and PurePath(path).suffix.lower() in _PICTURES:
            return _shown(path, kind, start + file.read(MAX_PICTURE_BYTES + 1))
        if b"\0" in start:
            raise ToolError("validation", "read", f"{path} looks binary; refusing to read as text")
        file.seek(len(_BOM) if start.startswith(_BOM) else 0)
        return _lines(file, path, first, limit)


def _picture(start: bytes) -> str:
    """The media type by content: a model service refuses the whole conversation where the name lies."""
    match start[:4]:
        case b"\x89PNG":
            return "image/png"
        case b"GIF8":
            return "image/gif"
        case b"RIFF" if start[8:12] == b"WEBP":
            return "image/webp"
        case _:
            return "image/jpeg" if start.startswith(b"\xff\xd8\xff") else ""


def _shown(path: str, kind: str, data: bytes) -> ToolResult:
    if len(data) > MAX_PICTURE_BYTES:
        raise ToolError("budget", "read", f"{path} is a picture of more than {MAX_PICTURE_BYTES} bytes")
    url = f"data:{kind};base64,{b64encode(data).decode()}"
    return ToolResult(f"{path}: {kind}, {len(data)} bytes", media=(url,))


def _lines(file: BinaryIO, path: str, first: int, limit: int) -> ToolResult:
    skipped = _skip(file, first - 1)
    if skipped < first - 1:
        raise ToolError("validation", "read", f"offset {first} is past the end of {path}, which has {skipped} lines")
    lines, note = _window(file, min(limit or MAX_LINES, MAX_LINES))
    if not note and not 0 < limit <= MAX_LINES and file.read(1):
        note = f"{MAX_LINES} lines"
    text = head(b"".join(lines)) if note else b"".join(lines).decode("utf-8", "replace")
    if text and not text.endswith("\n"):
        text += "\n"
    return ToolResult(f"{text}\n... [truncated at {note}]" if note else text)


def _skip(file: BinaryIO, count: int) -> int:
    """Passes over `count` lines, or as many as there are; a line of any length costs little memory."""
    skipped, open_line = 0, False
    while skipped < count:
        piece = file.readline(MAX_BYTES)
        if not piece:
            return skipped + open_line
        open_line = not piece.endswith(b"\n")
        skipped += not open_line
    return skipped


def _window(file: BinaryIO, count: int) -> tuple[list[bytes], str]:
    """Up to `count` lines within the byte limit, and what cut them short. Of a single long line the head stays."""
    lines: list[bytes] = []
    size = 0
    for _ in range(count):
        line = file.readline(MAX_BYTES - size + 1)
        if size + len(line) > MAX_BYTES:
            return lines or [line[:MAX_BYTES]], f"{MAX_BYTES} bytes"
        if not line:
            break
        lines.append(line)
        size += len(line)
    return lines, ""
