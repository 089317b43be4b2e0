"""How a tool call looks in an editor: title, kind, places, and what it does to files as diffs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from os.path import normpath

from hookgate.acp.prompts import fence_for
from hookgate.channels.calls import about
from hookgate.channels.printable import one_line, visible
from hookgate.protocol.acp.updates import Diff, Picture, Shown, Text, Tool, ToolKind
from hookgate.protocol.chat.media import inline
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.edits import replacements
from hookgate.protocol.interfaces import Replacing
from hookgate.protocol.values import Json, JsonObject, ToolCall, ToolResult, bare_text
from hookgate.tools.errors import ToolError
from hookgate.tools.files.files import opened
from hookgate.tools.files.workspace import Workspace

KINDS: Mapping[str, ToolKind] = {
    **dict.fromkeys(("read", "ls"), "read"),
    **dict.fromkeys(("write", "edit"), "edit"),
    **dict.fromkeys(("glob", "grep"), "search"),
    **dict.fromkeys(("bash", "bash_output", "bash_kill"), "execute"),
    "web_fetch": "fetch",
}
MAX_TITLE = 120
MAX_ARGUMENTS_BYTES = 16 * 1024
MAX_TEXT = 12_000
"""Of a result: it is the model that has to read all of it."""
MAX_BEFORE_BYTES = 256 * 1024
"""Of a file that is about to be overwritten: more is not shown as a diff."""


@dataclass(frozen=True)
class Looks:
    """`redactor` hides what an editor may not see either: it keeps what it is told."""

    workspace: Workspace
    redactor: Replacing

    def proposed(self, call: ToolCall) -> Tool:
        """Title, kind, places and arguments of a call without secrets, and the diff of an edit. Reads a file."""
        title = one_line(f"{call.name}: {said}" if (said := about(call.arguments)) else call.name)
        return Tool(
            "",
            title=title if len(title) <= MAX_TITLE else f"{title[:MAX_TITLE]}…",
            kind=KINDS.get(call.name, "other"),
            shown=tuple(self._diffs(call, self._before)),
            paths=tuple(self._paths(call.arguments)),
            # What does not fit is in what is shown.
            arguments=call.arguments if len(encode(call.arguments)) <= MAX_ARGUMENTS_BYTES else None,
        )

    def changed(self, call: ToolCall) -> tuple[Diff, ...]:
        """What a call has done to files, as far as it says so itself: what a file was before it was overwritten is
        gone."""
        return tuple(self._diffs(call, lambda _path: None))

    def _paths(self, arguments: JsonObject) -> Iterator[str]:
        if isinstance(path := arguments.get("path"), str) and path:
            yield normpath(self.workspace.root / path)

    def _diffs(self, call: ToolCall, before: Callable[[str], str | None]) -> Iterator[Diff]:
        for path in self._paths(call.arguments):
            if call.name == "edit":
                yield from (Diff(path, it.old, it.new) for it in replacements(call.arguments))
            elif call.name == "write" and isinstance(content := call.arguments.get("content"), str):
                yield Diff(path, before(path), content)

    def _before(self, path: str) -> str | None:
        """What stands in a file now; None where it is none that can be shown."""
        with suppress(ToolError, OSError):
            place = self.workspace.place(path, "read")
            with opened(self.workspace, place, "read") as file:
                data = file.read(MAX_BEFORE_BYTES + 1)
            if len(data) <= MAX_BEFORE_BYTES and b"\0" not in data:
                return self.redactor.text(data.decode("utf-8", "replace"))
        return None


def whole(arguments: JsonObject) -> Iterator[Text]:
    """Every argument as it is, with what cannot be seen written out, in blocks that nothing in them ends."""
    for name, value in arguments.items():
        text = visible(value if isinstance(value, str) else _json(value))
        fence = fence_for(text)
        yield Text(f"{one_line(name).replace('`', '')}:\n{fence}\n{text}\n{fence}")


def _json(value: Json) -> str:
    return encode(value).decode("utf-8", "replace")


def came_to(result: ToolResult) -> tuple[Shown, ...]:
    """What a call has come to, its pictures included."""
    return shown(cut(bare_text(result)), result.media)


def cut(text: str) -> str:
    return f"{text[:MAX_TEXT]}\n(and {len(text) - MAX_TEXT:,} more characters)" if len(text) > MAX_TEXT else text


def shown(text: str, media: tuple[str, ...] = ()) -> tuple[Text | Picture, ...]:
    said = (Text(text),) if text else ()
    return (*said, *map(_attached, media))


def _attached(url: str) -> Text | Picture:
    file = inline(url)
    if file is None or not file.type.startswith("image/"):
        return Text(f"[attachment: {url[:200]}]")
    return Picture(file.type, url.partition(",")[2])
