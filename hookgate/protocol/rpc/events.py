"""What RPC tells while a prompt or a compaction runs: one frozen class an event, spelled as on the wire.

Everything is a plain value: a program that embeds hookgate gets these same objects.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Literal, TypeAlias, cast

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.rpc.blocks import Block, CallBlock, Image, ResultBlock, Text, block_members
from hookgate.protocol.values import JsonObject

Stop = Literal["end", "tool_use", "length", "error", "aborted"]
Level = Literal["info", "success", "warn", "error"]


@dataclass(frozen=True, slots=True)
class Spent:
    """Tokens, and US dollars: 0 where nobody knows the model's prices. `input` is without what a cache held."""

    input: int = 0
    output: int = 0
    cache_read: int = 0
    cache_write: int = 0
    cost_usd: float = 0.0

    def __add__(self, other: Spent) -> Spent:
        return Spent(
            self.input + other.input,
            self.output + other.output,
            self.cache_read + other.cache_read,
            self.cache_write + other.cache_write,
            self.cost_usd + other.cost_usd,
        )


@dataclass(frozen=True, slots=True)
class UserMessage:
    """`time` is RFC 3339."""

    type: ClassVar[str] = "user_message"
    content: tuple[Block, ...]
    time: str


@dataclass(frozen=True, slots=True)
class TurnStart:
    """One model call begins; `step` counts them from 1."""

    type: ClassVar[str] = "turn_start"
    step: int


@dataclass(frozen=True, slots=True)
class AssistantStart:
    type: ClassVar[str] = "assistant_start"


@dataclass(frozen=True, slots=True)
class TextDelta:
    type: ClassVar[str] = "text_delta"
    delta: str


@dataclass(frozen=True, slots=True)
class ToolUseStart:
    type: ClassVar[str] = "tool_use_start"
    id: str
    name: str


@dataclass(frozen=True, slots=True)
class ToolUseArgs:
    """`delta`: JSON text of the arguments."""

    type: ClassVar[str] = "tool_use_args"
    id: str
    delta: str


@dataclass(frozen=True, slots=True)
class ToolUseEnd:
    type: ClassVar[str] = "tool_use_end"
    id: str


@dataclass(frozen=True, slots=True)
class UsageEvent:
    """One model call's, and of the whole conversation so far."""

    type: ClassVar[str] = "usage"
    input: int
    output: int
    cache_read: int
    cache_write: int
    cost_usd: float
    cumulative: Spent


@dataclass(frozen=True, slots=True)
class AssistantMessage:
    """`time` is RFC 3339."""

    type: ClassVar[str] = "assistant_message"
    content: tuple[Block, ...]
    time: str


@dataclass(frozen=True, slots=True)
class ToolCall:
    """`args` as the model asked, whatever hooks make of them."""

    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """One model call is over; the tools that it asked for run afterwards."""

    type: ClassVar[str] = "turn_end"
    stop: Stop
    error: str = ""


@dataclass(frozen=True, slots=True)
class ToolProgress:
    type: ClassVar[str] = "tool_progress"
    id: str
    text: str


@dataclass(frozen=True, slots=True)
class ToolResult:
    type: ClassVar[str] = "tool_result"
    id: str
    is_error: bool
    content: tuple[Text | Image, ...]


@dataclass(frozen=True, slots=True)
class ErrorEvent:
    type: ClassVar[str] = "error"
    message: str


@dataclass(frozen=True, slots=True)
class Done:
    """The last event of every prompt and every compaction, whatever became of it."""

    type: ClassVar[str] = "done"


@dataclass(frozen=True, slots=True)
class CompactDone:
    type: ClassVar[str] = "compact_done"
    summary: str


@dataclass(frozen=True, slots=True)
class ExtNotify:
    """A note of an extension's; `hookgate` itself where a hook or the gateway has something to say."""

    type: ClassVar[str] = "ext_notify"
    extension: str
    level: Level
    message: str


@dataclass(frozen=True, slots=True)
class ExtDisplay:
    type: ClassVar[str] = "ext_display"
    extension: str
    text: str


@dataclass(frozen=True, slots=True)
class ExtClearNotes:
    type: ClassVar[str] = "ext_clear_notes"
    extension: str


@dataclass(frozen=True, slots=True)
class ExtPanel:
    """The one panel that is open, as it looks now."""

    type: ClassVar[str] = "ext_panel"
    extension: str
    panel_id: str
    title: str
    lines: tuple[str, ...]
    footer: str


@dataclass(frozen=True, slots=True)
class ExtPanelClose:
    type: ClassVar[str] = "ext_panel_close"
    extension: str
    panel_id: str


@dataclass(frozen=True, slots=True)
class ApprovalAsked:
    """A call waits for a yes; `ttl_s` seconds of silence are a no. `session`, `always`: what such a yes would be for.

    `digest`: SHA-256 of the call as it is; `hidden`: secrets in it are replaced here, and `reveal` tells them.
    """

    type: ClassVar[str] = "approval_request"
    approval: str
    tool: str
    args: JsonObject
    asked_by: str
    title: str
    text: str
    ttl_s: float
    digest: str
    session: str = ""
    always: str = ""
    extension: str = ""
    hidden: bool = False


Event: TypeAlias = (
    UserMessage
    | TurnStart
    | AssistantStart
    | TextDelta
    | ToolUseStart
    | ToolUseArgs
    | ToolUseEnd
    | UsageEvent
    | AssistantMessage
    | ToolCall
    | TurnEnd
    | ToolProgress
    | ToolResult
    | ErrorEvent
    | Done
    | CompactDone
    | ExtNotify
    | ExtDisplay
    | ExtClearNotes
    | ExtPanel
    | ExtPanelClose
    | ApprovalAsked
)


def approval_asked(request: ApprovalRequest, session: str) -> ApprovalAsked:
    """`session`: what a yes for the session would be for; empty where there is none."""
    call = request.call
    shown = (request.asked_by, request.title, request.text, request.ttl_s)
    more = (request.digest, session, request.always, request.extension, request.unredacted is not None)
    return ApprovalAsked(request.id, call.name, call.arguments, *shown, *more)


# --- on the wire --------------------------------------------------------------------------------------------


def event_members(event: Event) -> dict[str, Any]:
    """The JSON object; `error`, and what an approval request need not have, are left out where there is none."""
    named = ((field.name, getattr(event, field.name)) for field in fields(event))
    members = {name: _plain(value) for name, value in named}
    if isinstance(event, TurnEnd) and not event.error:
        del members["error"]
    if isinstance(event, ApprovalAsked):
        needless = ("session", "always", "extension", "hidden")
        members = {name: it for name, it in members.items() if it or name not in needless}
    return {"type": event.type, **members}


def event_line(event: Event, named: Mapping[str, str] | None = None) -> bytes:
    """`named`: members besides its own, which say of which chat it is."""
    return encode({**event_members(event), **(named or {})}) + b"\n"


def spent_members(spent: Spent) -> dict[str, Any]:
    return {field.name: getattr(spent, field.name) for field in fields(spent)}


def _plain(value: object) -> object:
    match value:
        case Spent():
            return spent_members(value)
        case Text() | Image() | CallBlock() | ResultBlock():
            return block_members(value)
        case tuple():
            return [_plain(item) for item in cast("tuple[object, ...]", value)]
        case _:
            return value
