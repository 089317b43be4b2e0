"""The two forms of a result that is a list: labeled lines for reading, one JSON object for programs.

Both are cut to the size limits at whole items. Knows no tool.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from typing import Literal

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject, ToolCall, ToolResult
from hookgate.tools.errors import ToolError
from hookgate.tools.text import MAX_BYTES, MAX_LINES

Form = Literal["labeled", "json"]
FORMS: tuple[Form, ...] = ("labeled", "json")

EMPTY = "(empty)"

OUTPUT_ARGUMENT: JsonObject = {
    "type": "string",
    "enum": list(FORMS),
    "description": "labeled: lines to read; json: one object with the same. Leave out for the usual form.",
}
"""The schema of the argument `output`, for the tools that have it."""


@dataclass(frozen=True, slots=True)
class Items:
    """What a tool found. `members` are the object but for its list, which is called `key`, and `truncated`.

    `lines` are the same items for reading, `header` the line above them. `stopped`: the tool itself left some out.
    """

    header: str
    lines: Sequence[str]
    key: str
    objects: Sequence[JsonObject]
    members: JsonObject = field(default_factory=dict[str, Json])
    stopped: bool = False


def form_of(call: ToolCall, *defaults: Form | None) -> Form:
    """The form that the call asks for, else the first default that has an opinion, else labeled.

    Raises ToolError (validation) for a form that there is not.
    """
    match call.arguments.get("output"):
        case "labeled":
            return "labeled"
        case "json":
            return "json"
        case None:
            given: list[Form] = [form for form in defaults if form is not None]
            return given[0] if given else "labeled"
        case _:
            raise ToolError("validation", call.name, f"output must be one of {', '.join(FORMS)}")


def result(found: Items, form: Form) -> ToolResult:
    """Both forms: the chosen one as the text, the object as `data` whatever is chosen."""
    data = as_object(found)
    return ToolResult(encode(data).decode() if form == "json" else labeled(found), data=data)


def as_object(found: Items) -> JsonObject:
    """The object, with as many items as fit; `truncated` says whether that is all of them."""
    room = MAX_BYTES - len(encode({**found.members, found.key: [], "truncated": False}))
    kept = _fitting([len(encode(it)) for it in found.objects[:MAX_LINES]], room)
    truncated = found.stopped or kept < len(found.objects)
    return {**found.members, found.key: list(found.objects[:kept]), "truncated": truncated}


def labeled(found: Items) -> str:
    """The header, then an item a line, as many as fit, and a last line that counts the rest."""
    sizes = [len(line.encode("utf-8", "replace")) for line in found.lines[: MAX_LINES - 2]]
    kept = _fitting(sizes, MAX_BYTES - len(found.header.encode("utf-8", "replace")) - 100)
    missing = len(found.lines) - kept
    more = [f"... [{missing} more]"] if missing else []
    return "\n".join([found.header, *found.lines[:kept], *([] if found.lines else [EMPTY]), *more])


def _fitting(sizes: Sequence[int], room: int) -> int:
    """How many items fit, each with what separates it from the next."""
    used = 0
    for count, size in enumerate(sizes):
        used += size + 1
        if used > room:
            return count
    return len(sizes)
