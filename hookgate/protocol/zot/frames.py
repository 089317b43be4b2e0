"""What an extension sends: one frozen value a frame. How they are spelled on the wire is `reading.py`'s."""

from __future__ import annotations

from typing import ClassVar, Literal

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject

Level = Literal["info", "success", "warn", "error"]


@dataclass(frozen=True, slots=True)
class Hello:
    type: ClassVar[str] = "hello"
    name: str
    version: str = ""
    capabilities: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class RegisterCommand:
    """`name` as the extension wants it invoked, without the slash."""

    type: ClassVar[str] = "register_command"
    name: str
    description: str = ""


@dataclass(frozen=True, slots=True)
class RegisterTool:
    type: ClassVar[str] = "register_tool"
    name: str
    description: str
    schema: JsonObject


@dataclass(frozen=True, slots=True)
class Ready:
    type: ClassVar[str] = "ready"


@dataclass(frozen=True, slots=True)
class Subscribe:
    type: ClassVar[str] = "subscribe"
    events: frozenset[str] = frozenset()
    intercept: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Block:
    """One part of a tool's result; `data` is base64."""

    type: str
    text: str = ""
    mime_type: str = ""
    data: str = ""


@dataclass(frozen=True, slots=True)
class InterceptReply:
    """`system_prompt` None: not sent; an empty one is a value. `modified_args` None: not sent; `problem`: why it
    blocks or gives others, and cannot be followed."""

    type: ClassVar[str] = "event_intercept_response"
    id: str
    block: bool = False
    reason: str = ""
    modified_args: JsonObject | None = None
    replace_text: str = ""
    system_prompt: str | None = None
    problem: str = ""


@dataclass(frozen=True, slots=True)
class ToolReply:
    type: ClassVar[str] = "tool_result"
    id: str
    content: tuple[Block, ...] = ()
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    id: str
    title: str = ""
    lines: tuple[str, ...] = ()
    footer: str = ""


@dataclass(frozen=True, slots=True)
class CommandReply:
    type: ClassVar[str] = "command_response"
    id: str
    action: str = ""
    prompt: str = ""
    insert: str = ""
    display: str = ""
    panel: Panel | None = None
    error: str = ""


@dataclass(frozen=True, slots=True)
class OpenPanel:
    type: ClassVar[str] = "open_panel"
    panel: Panel


@dataclass(frozen=True, slots=True)
class RenderPanel:
    """New content of an open panel; an empty title keeps the old one."""

    type: ClassVar[str] = "panel_render"
    panel: Panel


@dataclass(frozen=True, slots=True)
class ClosePanel:
    type: ClassVar[str] = "panel_close"
    panel_id: str


@dataclass(frozen=True, slots=True)
class Notify:
    type: ClassVar[str] = "notify"
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class ClearNotes:
    type: ClassVar[str] = "clear_notes"


@dataclass(frozen=True, slots=True)
class Submit:
    """`text` is trimmed; blank ones mean nothing."""

    type: ClassVar[str] = "submit"
    text: str


@dataclass(frozen=True, slots=True)
class SubmitSlash:
    """`text` is trimmed: a command as a person types it, if it begins with a slash."""

    type: ClassVar[str] = "submit_slash"
    text: str


@dataclass(frozen=True, slots=True)
class ToolWanted:
    """It calls a tool itself. `parent_id`: of the host's call that it works on. `args` None, or no name: unusable."""

    type: ClassVar[str] = "call_tool"
    id: str
    name: str
    args: JsonObject | None
    parent_id: str = ""


@dataclass(frozen=True, slots=True)
class ToolUnwanted:
    """It waits no more for what it wanted under this id."""

    type: ClassVar[str] = "call_tool_cancel"
    id: str


@dataclass(frozen=True, slots=True)
class ShutdownAck:
    type: ClassVar[str] = "shutdown_ack"


@dataclass(frozen=True, slots=True)
class Unknown:
    """A frame of a type that is not built here."""

    type: str


Reply = InterceptReply | ToolReply | CommandReply
Frame = (
    Hello
    | RegisterCommand
    | RegisterTool
    | Ready
    | Subscribe
    | Reply
    | OpenPanel
    | RenderPanel
    | ClosePanel
    | Notify
    | ClearNotes
    | Submit
    | SubmitSlash
    | ToolWanted
    | ToolUnwanted
    | ShutdownAck
    | Unknown
)
