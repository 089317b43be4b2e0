"""Events that never leave the process: whole values, for whoever translates them to a wire of its own.

They are emitted like every other event, in order with them, but only to observers in this process that name them.
"""

from __future__ import annotations

from typing import Literal

from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.payloads import Payload
from hookgate.protocol.values import ToolCall, ToolResult, Usage
from hookgate.protocol.values.delta import CallPiece

Stop = Literal["end", "tool_use", "length", "error", "aborted"]
CallStatus = Literal["completed", "failed", "blocked", "cancelled", "timed_out"]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Prompted(Payload):
    """A message has joined the conversation; its turn begins. `at`: when it did, as its entry has it; 0: none yet."""

    kind = "inside.prompted"
    runtime = "inside.prompted"
    inbound: Inbound
    at: float = 0.0


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
class CallWritten(Payload):
    """The model writes a call; without secrets. Only where no hook may change the reply, and not of every call."""

    kind = "inside.call_written"
    runtime = "inside.call_written"
    piece: CallPiece


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ThoughtWritten(Payload):
    """A piece of what the model thinks; without secrets. Only where no hook may change the reply."""

    kind = "inside.thought_written"
    runtime = "inside.thought_written"
    piece: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplyEnded(Payload):
    """One model call is over. `visible` is what people see, None where it was withheld; `said` joined the transcript.

    `asked` are the calls as the model wrote them: with empty arguments where they cannot be read. `at`: when it
    joined, as its entry has it; 0: it has none.
    """

    kind = "inside.reply_ended"
    runtime = "inside.reply_ended"
    said: str
    visible: str | None
    asked: tuple[ToolCall, ...]
    stop: Stop
    failure: str = ""
    usage: Usage | None = None
    at: float = 0.0


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallProposed(Payload):
    """Somebody other than the model asks for a tool call; the step says who."""

    kind = "inside.call_proposed"
    runtime = "inside.call_proposed"
    call: ToolCall

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallProgressed(Payload):
    """A piece of what a running call prints."""

    kind = "inside.call_progressed"
    runtime = "inside.call_progressed"
    call_id: str
    piece: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PicturesKept(Payload):
    """What else a call has come to, as it stands in the transcript: addresses of files, `data:` URLs included."""

    kind = "inside.pictures_kept"
    runtime = "inside.pictures_kept"
    call_id: str
    media: tuple[str, ...]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallEnded(Payload):
    """A tool call has its final result. `call` is what ran, or would have."""

    kind = "inside.call_ended"
    runtime = "inside.call_ended"
    call: ToolCall
    outcome: ToolResult
    status: CallStatus
    executed: bool
    raw: str = ""
    """What the model wrote for arguments, where it cannot be read."""

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonAsked(Payload):
    """`preview` is what they read of the call."""

    kind = "inside.person_asked"
    runtime = "inside.person_asked"
    call: ToolCall
    preview: str

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallDecided(Payload):
    """Whether a call may run, and who said so."""

    kind = "inside.call_decided"
    runtime = "inside.call_decided"
    call: ToolCall
    decision: Literal["approved", "denied", "cancelled"]
    by: Literal["user", "remembered", "policy", "yolo"]
    why: str = ""

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactionBegan(Payload):
    """`id` is the same at the end; messages and tokens before it."""

    kind = "inside.compaction_began"
    runtime = "inside.compaction_began"
    id: str
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactionEnded(Payload):
    """Messages and tokens after it. `summary` where it succeeded, `failure` where it did not."""

    kind = "inside.compaction_ended"
    runtime = "inside.compaction_ended"
    id: str
    messages: int
    tokens: int
    status: Literal["completed", "failed", "cancelled"]
    summary: str = ""
    failure: str = ""
    usage: Usage | None = None


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionBegan(Payload):
    kind = "inside.session_began"
    runtime = "inside.session_began"
    session: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionEnded(Payload):
    """`why`: shutdown, session_switch, or idle, where it may go on later."""

    kind = "inside.session_ended"
    runtime = "inside.session_ended"
    session: str
    why: str


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class FailedOpen(Payload):
    """A hook lets things through that it should have judged. Not each time where they are the same: `times` it has
    failed since it was told last."""

    kind = "inside.failed_open"
    runtime = "inside.failed_open"
    hook: str
    stage: str
    reason: str
    let_through: str
    times: int


INSIDE: tuple[type[Payload], ...] = (
    Prompted,
    StepBegan,
    ModelAsked,
    CallWritten,
    ThoughtWritten,
    ReplyEnded,
    CallProposed,
    CallProgressed,
    CallEnded,
    PicturesKept,
    PersonAsked,
    CallDecided,
    CompactionBegan,
    CompactionEnded,
    SessionBegan,
    SessionEnded,
    FailedOpen,
)
