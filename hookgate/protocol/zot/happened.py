"""What happens in a session, with the whole values that extensions hear of, and the events they hear it as.

These are payloads of hookgate's own events, for hooks inside the process and for extensions: no glob should cover
them, since they carry what people and tools said.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.events import Event
from hookgate.protocol.payloads import Payload, TurnStart
from hookgate.protocol.values import JsonObject, ProposedCall, ToolCall, ToolResult
from hookgate.protocol.zot.blocks import result_members
from hookgate.protocol.zot.events import (
    AssistantSaid,
    CompactionEnded,
    CompactionStarted,
    ConfirmationRequested,
    Decision,
    HostEvent,
    PermissionDecided,
    PermissionStage,
    PromptSubmitted,
    SessionEnded,
    SessionStarted,
    Source,
    Status,
    StepEnded,
    StepStarted,
    Stop,
    ToolEnded,
    ToolProposed,
)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionOpened(Payload):
    kind = "session_opened"
    runtime = "hookgate.session_opened"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class SessionClosed(Payload):
    """`reason`: shutdown, session_switch or cwd_change."""

    kind = "session_closed"
    runtime = "hookgate.session_closed"
    reason: str = "shutdown"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class StepBegun(Payload):
    """A model call is about to pass before_llm."""

    kind = "step_begun"
    runtime = "hookgate.step_begun"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ReplyEnded(Payload):
    """`text` as people see it, empty when it was withheld; `calls` as the model wrote them.

    `stop` is the reply's finish_reason, or `error` or `aborted`; `error` says why.
    """

    kind = "reply_ended"
    runtime = "hookgate.reply_ended"
    text: str
    calls: tuple[ProposedCall, ...] = ()
    stop: str = "stop"
    error: str = ""


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallEnded(Payload):
    """A call has its final result. `call`: the one that ran, or the proposed one where none did."""

    kind = "call_ended"
    runtime = "hookgate.call_ended"
    call: ToolCall | ProposedCall
    result: ToolResult
    status: Status
    executed: bool

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class PersonAsked(Payload):
    """`preview` is what they read of the call."""

    kind = "person_asked"
    runtime = "hookgate.person_asked"
    call: ToolCall
    preview: str

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CallDecided(Payload):
    """Whether a call may run, and who said so."""

    kind = "call_decided"
    runtime = "hookgate.call_decided"
    call: ToolCall
    decision: Decision
    by: Source
    stage: PermissionStage = "pre_execution"
    reason: str = ""

    @property
    def tool(self) -> str:
        return self.call.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactionBegun(Payload):
    """`id` is the same at the end; messages and tokens before it."""

    kind = "compaction_begun"
    runtime = "hookgate.compaction_begun"
    id: str
    messages: int
    tokens: int


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class CompactionDone(Payload):
    """Messages and tokens after it; `status`: completed, failed or cancelled."""

    kind = "compaction_done"
    runtime = "hookgate.compaction_done"
    id: str
    messages: int
    tokens: int
    status: str = "completed"
    error: str = ""


HEARD: tuple[type[Payload], ...] = (
    SessionOpened,
    SessionClosed,
    TurnStart,
    StepBegun,
    ReplyEnded,
    PersonAsked,
    CallDecided,
    CallEnded,
    CompactionBegun,
    CompactionDone,
)
"""What an extension's mount observes; which of it an extension is sent is decided by its `subscribe`."""
OBSERVED: tuple[str, ...] = tuple(payload.kind for payload in HEARD)

_STOPS: Mapping[str, Stop] = {"length": "length", "max_tokens": "length", "error": "error", "aborted": "aborted"}


def translated(event: Event) -> tuple[HostEvent, ...]:
    """The event as an extension knows it, in order; nothing for what it has no name for."""
    match event.payload:
        case SessionOpened():
            return (SessionStarted(),)
        case SessionClosed(reason=reason):
            return (SessionEnded(reason),)
        case TurnStart(UserMessage=text, MediaCount=count):
            return (PromptSubmitted(text, image_count=count),)
        case StepBegun():
            return (StepStarted(event.step.iteration + 1 if event.step else 1),)
        case ReplyEnded() as reply:
            return _reply(reply)
        case CallEnded() as ended:
            return (_ended(ended),)
        case PersonAsked(call=call, preview=preview):
            return (ConfirmationRequested(call.id, call.name, preview),)
        case CallDecided(call=call) as it:
            return (PermissionDecided(call.id, call.name, it.decision, it.by, it.stage, it.reason),)
        case CompactionBegun() as it:
            return (CompactionStarted(it.id, it.messages, it.tokens),)
        case CompactionDone() as it:
            return (CompactionEnded(it.id, it.messages, it.tokens, it.status, it.error),)
        case _:
            return ()


def _reply(reply: ReplyEnded) -> tuple[HostEvent, ...]:
    said = (AssistantSaid(reply.text),) if reply.text else ()
    proposed = (ToolProposed(call.id, call.name, read_arguments(call.arguments) or {}) for call in reply.calls)
    stop: Stop = _STOPS.get(reply.stop, "tool_use" if reply.calls else "end")
    return (*said, *proposed, StepEnded(stop, reply.error))


def _ended(ended: CallEnded) -> ToolEnded:
    call, result = ended.call, ended.result
    arguments = call.arguments if isinstance(call, ToolCall) else read_arguments(call.arguments)
    return ToolEnded(
        tool_id=call.id,
        tool_name=call.name,
        tool_args=arguments or {},
        status=ended.status,
        executed=ended.executed,
        result=result_members(result.for_llm, result.media, is_error=result.is_error),
        tool_args_raw=str(call.arguments) if arguments is None else "",
    )


def read_arguments(text: str) -> JsonObject | None:
    """None where the model wrote no JSON object."""
    try:
        value: Any = decode(text) if text.strip() else {}
    except BadMessage:
        return None
    return cast("JsonObject", value) if isinstance(value, dict) else None
