"""What hookgate writes to hooks, as types: each JSON object of the wire with its members.

The functions of `wire.py` return these, so the type checker holds them; `schema.py` makes JSON Schema of them. A hook
may meet members that are not here, of a newer hookgate, and ignores them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NotRequired

from typing_extensions import TypedDict

from hookgate.protocol.events.payload import Severity
from hookgate.protocol.hook.hello import Mode
from hookgate.protocol.values import FaultKind, Json, JsonObject, Role


class Meta(TypedDict):
    """Which turn it belongs to. `Iteration` counts the turn's model calls before it."""

    AgentID: str
    TurnID: str
    ParentTurnID: str
    SessionKey: str
    Iteration: int
    TracePath: str
    Source: str


class Inbound(TypedDict):
    """Who wrote what this turn answers, and where."""

    channel: str
    chat_id: str
    kind: NotRequired[str]
    chat_type: NotRequired[str]
    topic_id: NotRequired[str]
    sender_id: NotRequired[str]
    account: NotRequired[str]
    roles: NotRequired[Sequence[str]]
    message_id: NotRequired[str]


class Decode(TypedDict):
    """How arguments were read that were not strict JSON."""

    steps: Sequence[str]
    truncated: bool
    guessed: bool


class Context(TypedDict):
    """`origin`, `decode` and `extension` at the tool stages alone."""

    inbound: Inbound
    origin: NotRequired[str]
    purpose: NotRequired[str]
    resumed: NotRequired[bool]
    extension: NotRequired[str]
    decode: NotRequired[Decode]


class ProposedFunction(TypedDict):
    """`arguments` are JSON text."""

    name: str
    arguments: str


class ProposedCall(TypedDict):
    """A tool call as the model wrote it."""

    id: str
    type: Literal["function"]
    function: ProposedFunction


class Message(TypedDict):
    """One of the conversation's, as the model gets it."""

    role: Role
    content: str
    media: NotRequired[Sequence[str]]
    reasoning_content: NotRequired[str]
    tool_calls: NotRequired[Sequence[ProposedCall]]
    tool_call_id: NotRequired[str]
    is_error: NotRequired[bool]


class ToolFunction(TypedDict):
    """`parameters` is the JSON Schema of its arguments."""

    name: str
    description: NotRequired[str]
    parameters: NotRequired[JsonObject]


class Tool(TypedDict):
    """One that the model may call."""

    type: Literal["function"]
    function: ToolFunction


class Usage(TypedDict):
    """Tokens."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int


class Reply(TypedDict):
    """What the model has said."""

    role: Literal["assistant"]
    content: str
    tool_calls: Sequence[ProposedCall]
    finish_reason: NotRequired[str]
    reasoning_content: NotRequired[str]
    usage: NotRequired[Usage]


class Fault(TypedDict):
    """What went wrong with a call, and whether to try again."""

    kind: FaultKind
    op: str
    reason: str
    denied_by: NotRequired[str]
    retry_after_s: NotRequired[float]


# `async` is a word of Python's.
ToolResult = TypedDict(
    "ToolResult",
    {
        "for_llm": str,
        "for_user": str,
        "silent": bool,
        "is_error": bool,
        "async": bool,
        "media": Sequence[str],
        "artifact_tags": Sequence[str],
        "response_handled": bool,
        "error": NotRequired[Fault],
        "data": NotRequired[Json],
        "effects": NotRequired[Sequence[Mapping[str, object]]],
        "cached": NotRequired[bool],
    },
)
"""What a tool gave: `for_llm` is what the model reads, `for_user` what the chat is shown besides."""


class ChatMessage(TypedDict):
    """What somebody wrote, or what goes to the chat."""

    text: str
    media: Sequence[str]
    kind: str
    message_id: NotRequired[str]


class Asked(TypedDict):
    """What every stage call carries. An answer counts for `deadline_ms` from now."""

    meta: Meta
    channel: str
    chat_id: str
    context: Context
    deadline_ms: int


class OnMessageParams(Asked):
    message: ChatMessage


class BeforeLlmParams(Asked):
    model: str
    messages: Sequence[Message]
    tools: Sequence[Tool]
    options: JsonObject
    graceful_terminal: bool


class AfterLlmParams(Asked):
    model: str
    response: Reply


class BeforeToolParams(Asked):
    tool: str
    arguments: JsonObject
    tool_call_id: str


class ApproveToolParams(BeforeToolParams):
    """The call exactly as it will run."""


class AfterToolParams(BeforeToolParams):
    """`duration` is the execution's, in nanoseconds."""

    result: ToolResult
    duration: int


class BeforeSendParams(Asked):
    message: ChatMessage
    in_reply_to: str


class HelloParams(TypedDict):
    """`version` is the protocol's; `media_dir` the folder of messages' files; `workspace` that of relative paths."""

    name: str
    version: int
    stages: Sequence[str]
    modes: Sequence[Mode]
    media_dir: NotRequired[str]
    workspace: NotRequired[str]


class CancelParams(TypedDict):
    """Nobody waits for the answer to the call with this id any more."""

    id: int


class EventMeta(TypedDict, total=False):
    """As of a call; empty where an event is about the gateway itself."""

    AgentID: str
    TurnID: str
    ParentTurnID: str
    SessionKey: str
    Iteration: int
    TracePath: str
    Source: str


class EventParams(TypedDict):
    """What happened. `Dropped`: so many events before it are lost."""

    Kind: str
    Meta: EventMeta
    Payload: JsonObject
    Dropped: NotRequired[int]


class Source(TypedDict):
    component: Literal["agent", "gateway"]
    name: NotRequired[str]


class Scope(TypedDict, total=False):
    """Where it happened; empty where it is about the gateway itself."""

    agent_id: str
    session_key: str
    turn_id: str
    channel: str
    chat_id: str
    kind: str
    chat_type: str
    topic_id: str
    sender_id: str
    account: str
    roles: Sequence[str]
    message_id: str


class Correlation(TypedDict, total=False):
    trace_id: str
    parent_turn_id: str


class Attrs(TypedDict, total=False):
    agent_source: str
    iteration: int


class RuntimeEventParams(TypedDict):
    """The same in the other envelope. `time` is UTC, in RFC 3339."""

    id: str
    kind: str
    time: str
    source: Source
    scope: Scope
    correlation: Correlation
    severity: Severity
    payload: JsonObject
    attrs: Attrs
    Dropped: NotRequired[int]
