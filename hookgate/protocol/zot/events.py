"""Lifecycle events as an extension hears them: one frozen value an event, and its line within the size limit."""

from __future__ import annotations

from typing import ClassVar, Literal, get_args

from hookgate.protocol.codec import encode
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import JsonObject
from hookgate.protocol.zot.host import sent

MAX_LINE_BYTES = 4 * 1024 * 1024
"""A reader of the Go SDK dies of a longer line."""
SHORT_CHARS = 512 * 1024
"""A text cut to this fits a line however it is escaped: at most six bytes a character."""
CUT = "\n... [truncated]"

Stop = Literal["end", "tool_use", "length", "error", "aborted"]
Status = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]
Decision = Literal["approved", "denied", "cancelled"]
Source = Literal["user", "remembered", "policy", "yolo"]
PermissionStage = Literal["pre_execution", "tool_execution"]


@dataclass(frozen=True, slots=True)
class SessionStarted:
    event: ClassVar[str] = "session_start"


@dataclass(frozen=True, slots=True)
class SessionEnded:
    """`reason`: shutdown, session_switch or cwd_change."""

    event: ClassVar[str] = "session_end"
    reason: str


@dataclass(frozen=True, slots=True)
class PromptSubmitted:
    event: ClassVar[str] = "user_prompt_submit"
    text: str = ""
    queued: bool = False
    image_count: int = 0


@dataclass(frozen=True, slots=True)
class StepStarted:
    """One model call; `step` counts those of a turn from 1."""

    event: ClassVar[str] = "turn_start"
    step: int


@dataclass(frozen=True, slots=True)
class AssistantSaid:
    """`text` as people see it."""

    event: ClassVar[str] = "assistant_message"
    text: str


@dataclass(frozen=True, slots=True)
class ToolProposed:
    """As the model wrote it, also if the call is refused later."""

    event: ClassVar[str] = "tool_call"
    tool_id: str
    tool_name: str
    tool_args: JsonObject


@dataclass(frozen=True, slots=True)
class StepEnded:
    """The reply ended; its tools run afterwards."""

    event: ClassVar[str] = "turn_end"
    stop: Stop
    error: str = ""


@dataclass(frozen=True, slots=True)
class ToolEnded:
    """`tool_args` are those it ran with, or as proposed when refused; `result` as a frame carries it."""

    event: ClassVar[str] = "tool_result"
    tool_id: str
    tool_name: str
    tool_args: JsonObject
    status: Status
    executed: bool
    result: JsonObject
    tool_args_raw: str = ""


@dataclass(frozen=True, slots=True)
class ConfirmationRequested:
    """A person is asked; `tool_preview` is what they read."""

    event: ClassVar[str] = "tool_confirmation_requested"
    tool_id: str
    tool_name: str
    tool_preview: str


@dataclass(frozen=True, slots=True)
class PermissionDecided:
    event: ClassVar[str] = "permission_decision"
    tool_id: str
    tool_name: str
    decision: Decision
    source: Source
    stage: PermissionStage
    reason: str = ""


@dataclass(frozen=True, slots=True)
class CompactionStarted:
    event: ClassVar[str] = "pre_compact"
    compaction_id: str
    message_count: int
    token_estimate: int


@dataclass(frozen=True, slots=True)
class CompactionEnded:
    event: ClassVar[str] = "post_compact"
    compaction_id: str
    message_count: int
    token_estimate: int
    status: str
    error: str = ""


HostEvent = (
    SessionStarted
    | SessionEnded
    | PromptSubmitted
    | StepStarted
    | AssistantSaid
    | ToolProposed
    | StepEnded
    | ToolEnded
    | ConfirmationRequested
    | PermissionDecided
    | CompactionStarted
    | CompactionEnded
)

EVENTS: frozenset[str] = frozenset(it.event for it in get_args(HostEvent))
INTERCEPTS: frozenset[str] = frozenset({"tool_call", "turn_start", "assistant_message", "before_agent_start"})


@dataclass(frozen=True, slots=True)
class Sent:
    """An event on its way to one extension; `sequence` counts that extension's events from 1.

    `origin_extension`: the one whose own tool call it is about.
    """

    event: HostEvent
    session_id: str
    cwd: str
    sequence: int
    origin_extension: str = ""


def event_line(sent_event: Sent, dropped: int) -> bytes:
    """With its LF; `dropped` events before it were lost. What would make the line too long is shortened."""
    line = _line(sent_event, dropped)
    if len(line) > MAX_LINE_BYTES:
        line = _line(replace(sent_event, event=_shortened(sent_event.event)), dropped)
    return line


def _line(it: Sent, dropped: int) -> bytes:
    members: dict[str, object] = {"type": "event", "event": it.event.event, **sent(it.event)}
    envelope = {"origin_extension": it.origin_extension, "session_id": it.session_id, "cwd": it.cwd}
    members |= {name: value for name, value in envelope.items() if value}
    members["sequence"] = it.sequence
    if dropped:
        members["dropped"] = dropped
    return encode(members) + b"\n"


def _shortened(event: HostEvent) -> HostEvent:
    """Arguments cannot be cut and stay JSON, so they are left out."""
    match event:
        case AssistantSaid() | PromptSubmitted():
            return replace(event, text=cut(event.text))
        case StepEnded() | CompactionEnded():
            return replace(event, error=cut(event.error))
        case ConfirmationRequested():
            return replace(event, tool_preview=cut(event.tool_preview))
        case PermissionDecided():
            return replace(event, reason=cut(event.reason))
        case ToolProposed():
            return replace(event, tool_args={})
        case ToolEnded():
            return replace(event, tool_args={}, tool_args_raw=cut(event.tool_args_raw))
        case _:
            return event


def cut(text: str) -> str:
    return text if len(text) <= SHORT_CHARS else text[:SHORT_CHARS] + CUT
