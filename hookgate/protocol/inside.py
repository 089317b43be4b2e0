"""Events that never leave the process: whole values, for whoever translates them to a wire of its own.

They are emitted like every other event, in order with them, but only to observers in this process that name them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from hookgate.protocol.payloads import Payload
from hookgate.protocol.values import Inbound, ToolCall, ToolResult, Usage

Stop = Literal["end", "tool_use", "length", "error", "aborted"]
CallStatus = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prompted(Payload):
    """A message has joined the conversation; its turn begins."""

    kind = "inside.prompted"
    runtime = "inside.prompted"
    inbound: Inbound


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepBegan(Payload):
    """Before anything is asked about one model call; `number` counts from 1 in each turn."""

    kind = "inside.step_began"
    runtime = "inside.step_began"
    number: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ModelAsked(Payload):
    """The hooks have had their say, the model is about to answer."""

    kind = "inside.model_asked"
    runtime = "inside.model_asked"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplyEnded(Payload):
    """One model call is over. `visible` is what people see, None where it was withheld; `said` joined the transcript.

    `asked` are the calls as the model wrote them: with empty arguments where they cannot be read.
    """

    kind = "inside.reply_ended"
    runtime = "inside.reply_ended"
    said: str
    visible: str | None
    asked: tuple[ToolCall, ...]
    stop: Stop
    failure: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallEnded(Payload):
    """A tool call has its final result. `call` is what ran, or would have."""

    kind = "inside.call_ended"
    runtime = "inside.call_ended"
    call: ToolCall
    outcome: ToolResult
    status: CallStatus
    executed: bool


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionBegan(Payload):
    kind = "inside.session_began"
    runtime = "inside.session_began"
    session: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionEnded(Payload):
    """`why`: shutdown or session_switch."""

    kind = "inside.session_ended"
    runtime = "inside.session_ended"
    session: str
    why: str


INSIDE: tuple[type[Payload], ...] = (
    Prompted,
    StepBegan,
    ModelAsked,
    ReplyEnded,
    CallEnded,
    SessionBegan,
    SessionEnded,
)
