"""What an editor is told of a session while it goes on: one frozen class a kind of update."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Literal, TypeAlias

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject

Speaker = Literal["user_message_chunk", "agent_message_chunk", "agent_thought_chunk"]
ToolKind = Literal["read", "edit", "delete", "move", "search", "execute", "think", "fetch", "other"]
ToolStatus = Literal["pending", "in_progress", "completed", "failed"]


@dataclass(frozen=True, slots=True)
class Text:
    text: str


@dataclass(frozen=True, slots=True)
class Picture:
    """`data` in base64."""

    mime_type: str
    data: str


@dataclass(frozen=True, slots=True)
class Diff:
    """`path` is absolute; `old` None: there was no such file."""

    path: str
    old: str | None
    new: str


Shown: TypeAlias = Text | Picture | Diff


@dataclass(frozen=True, slots=True)
class Chunk:
    """A piece of what somebody says; those of one message have one `message`."""

    speaker: Speaker
    content: Text | Picture
    message: str


@dataclass(frozen=True, slots=True)
class Tool:
    """A call, or what has changed of one: None is what has not. `begins`: the editor hears of it for the first time.
    `paths` are absolute."""

    id: str
    begins: bool = False
    title: str | None = None
    kind: ToolKind | None = None
    status: ToolStatus | None = None
    shown: tuple[Shown, ...] | None = None
    paths: tuple[str, ...] | None = None
    arguments: JsonObject | None = None


@dataclass(frozen=True, slots=True)
class Command:
    """`hint`: the words behind its name; empty: it takes none."""

    name: str
    description: str
    hint: str = ""


@dataclass(frozen=True, slots=True)
class Commands:
    rows: tuple[Command, ...]


@dataclass(frozen=True, slots=True)
class Title:
    title: str


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens of the model's window, and US dollars so far."""

    used: int
    size: int
    dollars: float


Update: TypeAlias = Chunk | Tool | Commands | Title | Spent


def update_members(update: Update) -> dict[str, Any]:
    match update:
        case Chunk():
            content = _content(update.content)
            return {"sessionUpdate": update.speaker, "content": content, "messageId": update.message}
        case Tool(begins=begins):
            return {"sessionUpdate": "tool_call" if begins else "tool_call_update", **tool_members(update)}
        case Commands(rows=rows):
            return {"sessionUpdate": "available_commands_update", "availableCommands": [*map(_command, rows)]}
        case Title(title=title):
            return {"sessionUpdate": "session_info_update", "title": title}
        case Spent():
            cost = {"amount": update.dollars, "currency": "USD"}
            return {"sessionUpdate": "usage_update", "used": update.used, "size": update.size, "cost": cost}


def tool_members(tool: Tool) -> dict[str, Any]:
    members = {
        "toolCallId": tool.id,
        "title": tool.title,
        "kind": tool.kind,
        "status": tool.status,
        "content": None if tool.shown is None else [*map(_shown, tool.shown)],
        "locations": None if tool.paths is None else [{"path": path} for path in tool.paths],
        "rawInput": tool.arguments,
    }
    return {name: value for name, value in members.items() if value is not None}


def _content(content: Text | Picture) -> dict[str, Any]:
    if isinstance(content, Text):
        return {"type": "text", "text": content.text}
    return {"type": "image", "mimeType": content.mime_type, "data": content.data}


def _shown(shown: Shown) -> dict[str, Any]:
    if isinstance(shown, Diff):
        return {"type": "diff", "path": shown.path, "oldText": shown.old, "newText": shown.new}
    return {"type": "content", "content": _content(shown)}


def _command(command: Command) -> dict[str, Any]:
    hint = {"input": {"hint": command.hint}} if command.hint else {}
    return {"name": command.name, "description": command.description, **hint}


CHUNK_CHARS = 8000
"""Some editors read lines up to 64 KiB."""


def chunks(speaker: Speaker, content: Text | Picture, message: str) -> Iterator[Chunk]:
    if isinstance(content, Picture):
        yield Chunk(speaker, content, message)
        return
    for at in range(0, len(content.text), CHUNK_CHARS):
        yield Chunk(speaker, Text(content.text[at : at + CHUNK_CHARS]), message)
