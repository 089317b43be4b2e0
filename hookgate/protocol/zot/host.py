"""What an extension is sent: one frozen value a frame, and its line. What has its default value is not written."""

from __future__ import annotations

from dataclasses import MISSING, fields
from functools import cache
from typing import ClassVar

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import Json, JsonObject

PROTOCOL_VERSION = 1


@dataclass(frozen=True, slots=True)
class HelloAck:
    """`cwd` is the project; both directories are the extension's own. `capabilities`: those that it asked for and
    that work here."""

    type: ClassVar[str] = "hello_ack"
    protocol_version: int
    zot_version: str
    provider: str
    model: str
    cwd: str
    extension_dir: str
    data_dir: str
    capabilities: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CommandInvoked:
    type: ClassVar[str] = "command_invoked"
    id: str
    name: str
    args: str = ""


@dataclass(frozen=True, slots=True)
class CallTool:
    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class CancelTool:
    """Only for an extension with the capability `tool_cancel`."""

    type: ClassVar[str] = "tool_cancel"
    id: str


@dataclass(frozen=True, slots=True)
class ToolAnswer:
    """What became of a call that the extension made, under the id that it gave it."""

    type: ClassVar[str] = "tool_result"
    id: str
    name: str
    content: Json
    is_error: bool = False
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class InterceptToolCall:
    """`origin_extension`: the one that makes the call; none where the model does."""

    type: ClassVar[str] = "event_intercept"
    event: ClassVar[str] = "tool_call"
    id: str
    tool_id: str
    tool_name: str
    tool_args: JsonObject
    origin_extension: str = ""


@dataclass(frozen=True, slots=True)
class InterceptTurnStart:
    """`step` counts the model calls of a turn from 1."""

    type: ClassVar[str] = "event_intercept"
    event: ClassVar[str] = "turn_start"
    id: str
    step: int


@dataclass(frozen=True, slots=True)
class InterceptAssistantMessage:
    type: ClassVar[str] = "event_intercept"
    event: ClassVar[str] = "assistant_message"
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class InterceptAgentStart:
    type: ClassVar[str] = "event_intercept"
    event: ClassVar[str] = "before_agent_start"
    id: str
    system_prompt: str
    session_id: str
    agent_run_id: str
    cwd: str
    provider: str
    model: str


@dataclass(frozen=True, slots=True)
class PanelKey:
    """`text` with the key `rune` only."""

    type: ClassVar[str] = "panel_key"
    panel_id: str
    key: str
    text: str = ""


@dataclass(frozen=True, slots=True)
class PanelClosed:
    """The user closed it, or another panel took its place."""

    type: ClassVar[str] = "panel_close"
    panel_id: str


@dataclass(frozen=True, slots=True)
class Shutdown:
    type: ClassVar[str] = "shutdown"


Intercept = InterceptToolCall | InterceptTurnStart | InterceptAssistantMessage | InterceptAgentStart
HostFrame = (
    HelloAck | CommandInvoked | CallTool | CancelTool | ToolAnswer | Intercept | PanelKey | PanelClosed | Shutdown
)


def line_of(frame: HostFrame) -> bytes:
    """The frame with its LF."""
    head: dict[str, object] = {"type": frame.type}
    if isinstance(frame, Intercept):
        head["event"] = frame.event
    return encode(head | sent(frame)) + b"\n"


def sent(value: object) -> dict[str, object]:
    """A frame's own members that are to be written."""
    named = ((name, getattr(value, name), default) for name, default in _members(type(value)))
    return {name: member for name, member, default in named if default is MISSING or member != default}


@cache
def _members(kind: type) -> tuple[tuple[str, object], ...]:
    return tuple((field.name, field.default) for field in fields(kind))
