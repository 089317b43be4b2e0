"""The tool `send_file`: a file of the workspace, or one that a message refers to, for whoever the turn answers.

Puts it into the store and says which it is: bringing it to the chat is the loop's, which says so where that fails.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from functools import partial
from pathlib import PurePath

import trio

from hookgate.protocol import call_context
from hookgate.protocol.chat.media import MediaReference, MediaRefused, MediaStore, file_name, media_reference
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import FileEffect
from hookgate.tools import arguments
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened
from hookgate.tools.files.observe_paths import shown_path
from hookgate.tools.files.workspace import Workspace
from hookgate.tools.names import SEND_FILE

MOST_BYTES = 20_000_000
_WINDOW, _OVERLAP = 1 << 16, 1 << 13

SPEC = ToolSpec(
    name=SEND_FILE,
    description=(
        "Send a file to the user in this chat: one of the workspace, or one that was attached to a message before. "
        f"At most {MOST_BYTES // 1_000_000} MB. The user gets it at once, with the caption below it."
    ),
    parameters={
        "type": "object",
        "properties": {
            "path": {"type": "string", "description": "The file, relative to the workspace or absolute inside it."},
            "media": {"type": "string", "description": "Instead of path: what an attached file is called, media:..."},
            "caption": {"type": "string", "description": "What stands below it."},
        },
        "additionalProperties": False,
    },
    # No file changes; but what was sent is sent, so it is no call to make twice.
    mutates=False,
    affects_workspace=True,
    access="read",
)


class SendFile:
    def __init__(self, workspace: Workspace, store: MediaStore, redactor: Replacing) -> None:
        self.spec = SPEC
        self._workspace, self._store, self._redactor = workspace, store, redactor

    async def execute(self, call: ToolCall) -> ToolResult:
        path, media, caption = (arguments.text(call, name) for name in ("path", "media", "caption"))
        if bool(path) == bool(media):
            raise ToolError("validation", SEND_FILE, "name either a path or media")
        reference = await self._of_workspace(path) if path else await self._of_message(media)
        effects = (FileEffect("read", shown_path(self._workspace.place(path, SEND_FILE).parts)),) if path else ()
        what = f"{path or reference.name or reference.type}, in this chat: {reference}"
        return ToolResult(what, for_user=caption, media=(str(reference),), response_handled=True, effects=effects)

    async def _of_workspace(self, path: str) -> MediaReference:
        content = await trio.to_thread.run_sync(partial(self._read, path), abandon_on_cancel=True)
        try:
            kept = await self._store.keep(content, call_context.user())
        except MediaRefused as error:
            raise ToolError("validation", SEND_FILE, f"{path}: {error}") from None
        return replace(kept, name=file_name(PurePath(path).name))

    async def _of_message(self, media: str) -> MediaReference:
        reference = media_reference(media)
        if reference is None:
            raise ToolError("validation", SEND_FILE, "media is written media:TYPE:HASH, as messages have it")
        # Its hash is no secret: what others have sent is theirs.
        if not await self._store.is_of(reference.digest, call_context.user()):
            why = "is not there any more, or not this user's"
            raise ToolError("not_found", SEND_FILE, f"{reference.name or media} {why}")
        return reference

    def _read(self, path: str) -> bytes:
        """Raises ToolError for what is too large, and for a text with a secret in it, which no tool may show."""
        with opened(self._workspace, self._workspace.place(path, SEND_FILE), SEND_FILE) as file:
            content = file.read(MOST_BYTES + 1)
        if len(content) > MOST_BYTES:
            raise ToolError("budget", SEND_FILE, f"{path} has more than {MOST_BYTES} bytes")
        if any(self._redactor.text(text) != text for text in _readings(content)):
            why = f"{path} holds what is a secret, or looks like one; take it out, or have a person send the file"
            raise ToolError("permission", SEND_FILE, why, denied_by="rule:secrets")
        return content


def _readings(content: bytes) -> Iterator[str]:
    """The file as text, in each way that some program would read it: one byte that is no UTF-8 makes it no other."""
    try:
        text = content.decode()
    except UnicodeDecodeError:
        yield from _windows(content.decode("utf-8", "replace"))
    else:
        yield text
    if b"\0" in content or content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        for coding in ("utf-16-le", "utf-16-be"):
            yield from _windows(content.decode(coding, "replace"))


def _windows(text: str) -> Iterator[str]:
    """Piece by piece, each with the end of the one before: no thread waits for megabytes of what may be no text."""
    for start in range(0, len(text), _WINDOW):
        yield text[max(0, start - _OVERLAP) : start + _WINDOW]
