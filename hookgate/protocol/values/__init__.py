"""The nouns of a conversation with a model: what it is asked and replies, what a tool is called with and answers.

Every value is frozen. Mappings inside them are JSON objects that nobody changes in place.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.values.effects import Effect

if TYPE_CHECKING:
    from hookgate.protocol.chat import Chat, Inbound

    Json: TypeAlias = "Mapping[str, Json] | list[Json] | tuple[Json, ...] | str | int | float | bool | None"
else:
    # Whoever reads annotations while it runs would not come to their end.
    Json = Any
JsonObject: TypeAlias = Mapping[str, Json]

Role = Literal["system", "user", "assistant", "tool"]
FaultKind = Literal["validation", "not_found", "permission", "transient", "budget", "stale", "fatal", "unknown"]
Origin = Literal["native", "text"]
Access = Literal["none", "read", "shared", "write"]
Purpose = Literal["turn", "compact"]
"""Why a model is called: to answer somebody, or to sum up what was said."""

TOOL_TIMEOUT_S = 60.0
FAILED = "ERROR ("
"""How what a model is told of a failed call begins, unless a tool has words of its own."""


@dataclass(frozen=True, slots=True)
class ProposedCall:
    """A tool call as the model wrote it: its arguments are still text."""

    id: str
    name: str
    arguments: str


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of the transcript. `media` holds URLs, `data:` URLs included. `is_error`: of a tool, whether the call
    did not succeed."""

    role: Role
    content: str
    tool_calls: tuple[ProposedCall, ...] = ()
    tool_call_id: str = ""
    media: tuple[str, ...] = ()
    reasoning: str = ""
    is_error: bool = False


@dataclass(frozen=True, slots=True)
class ToolPreference:
    """How much a tool wants to be among those that a request ships. None: no opinion (on, weight 0.5).

    `overrides` are arguments that stand under the model's own.
    """

    enabled: bool | None = None
    weight: float | None = None
    overrides: JsonObject = field(default_factory=dict[str, Json])


NO_PREFERENCE = ToolPreference()


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """What the model may ask for.

    A spec that sets neither `mutates` nor `affects_workspace` is read-only; a stranger's spec (MCP, hook)
    keeps the defaults and so counts as changing state. `provider` is `builtin`, `hook:NAME`, `mcp:NAME`, ...
    `pure`: the same call has the same result until something changes state. `access` to the workspace: None means
    "read" or "shared", by the flags; "shared": it may change the workspace while others do, "write": it alone of
    those that say so. `output_schema` describes `data` in results.
    """

    name: str
    description: str
    parameters: JsonObject
    mutates: bool = True
    affects_workspace: bool = True
    pure: bool = False
    timeout_s: float = TOOL_TIMEOUT_S
    provider: str = "builtin"
    access: Access | None = None
    output_schema: JsonObject | None = None
    preference: ToolPreference = NO_PREFERENCE

    @property
    def lease(self) -> Access:
        """What it needs of the workspace while it runs."""
        return self.access or ("shared" if self.mutates or self.affects_workspace else "read")

    @property
    def read_only(self) -> bool:
        return not (self.mutates or self.affects_workspace)

    @property
    def owner(self) -> str:
        """The hook that injected this tool and must answer its calls; empty for every other tool."""
        return self.provider.removeprefix("hook:") if self.provider.startswith("hook:") else ""


@dataclass(frozen=True, slots=True)
class Decode:
    """What it took to read a call's arguments."""

    steps: tuple[str, ...] = ()
    truncated: bool = False
    guessed: bool = False


STRICT = Decode()
"""It was JSON as it came."""


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call with decoded arguments: what hooks judge, people approve and tools execute."""

    id: str
    name: str
    arguments: JsonObject
    origin: Origin = "native"
    decode: Decode = STRICT


@dataclass(frozen=True, slots=True)
class Fault:
    """Why a call did not succeed. `denied_by`: `hook:NAME`, `approval:ID`, `rule:NAME` or `os`, if refused.

    `retry_after_s`: when the world may be ready for another try, where somebody said so. `timed_out`: it took too
    long.
    """

    kind: FaultKind
    op: str
    reason: str
    denied_by: str = ""
    retry_after_s: float | None = None
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class ToolResult:
    """What the model is told (`for_llm`, never empty) and what the user is shown besides (`for_user`).

    `data` is the same in JSON, `effects` what the call did to the world: hooks see both, the model neither.
    `cached`: nothing ran, it is an earlier result of the same call. `abandoned`: a thread of it still runs.
    """

    for_llm: str
    for_user: str = ""
    silent: bool = False
    is_error: bool = False
    is_async: bool = False
    media: tuple[str, ...] = ()
    artifact_tags: tuple[str, ...] = ()
    response_handled: bool = False
    error: Fault | None = None
    data: Json = None
    effects: tuple[Effect, ...] = ()
    cached: bool = False
    abandoned: bool = False


def bare_text(result: ToolResult) -> str:
    """What a tool itself said: a failure without the words that a model gets round it."""
    error = result.error
    rendered = error is not None and error.reason and result.for_llm.startswith(f"{FAILED}{error.kind}) ")
    return error.reason if error is not None and rendered else result.for_llm


@dataclass(frozen=True, slots=True)
class LLMRequest:
    """One model call. `model` is written PROVIDER/MODEL; the system prompt is the first message."""

    model: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    options: JsonObject = field(default_factory=dict[str, Json])
    graceful_terminal: bool = False

    def tool(self, name: str) -> ToolSpec | None:
        return next((spec for spec in self.tools if spec.name == name), None)


@dataclass(frozen=True, slots=True)
class Usage:
    """Tokens; `prompt_tokens` includes those read from a cache (`cached_tokens`) and those written to one."""

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0

    @property
    def fresh_tokens(self) -> int:
        return self.prompt_tokens - self.cached_tokens - self.cache_write_tokens

    def __add__(self, other: Usage) -> Usage:
        return Usage(
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            self.cached_tokens + other.cached_tokens,
            self.cache_write_tokens + other.cache_write_tokens,
        )

    @property
    def total_tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


@dataclass(frozen=True, slots=True)
class LLMReply:
    model: str
    content: str
    tool_calls: tuple[ProposedCall, ...] = ()
    finish_reason: str = "stop"
    usage: Usage | None = None
    reasoning: str = ""
    shown: str | None = None
    """What people see instead of `content`, which the transcript keeps; None: the content itself, empty: nothing."""
    withheld_by: str = ""
    """Who keeps the text from people and why, in one line; only with an empty `shown`."""


@dataclass(frozen=True, slots=True)
class Finished:
    """A call that ran, as after_tool sees it; `duration_ns` is the execution alone."""

    call: ToolCall
    result: ToolResult
    duration_ns: int


@dataclass(frozen=True, slots=True)
class Step:
    """One model call of a turn and the tool calls it leads to: what `meta` and `context` are made from.

    `extension`: the one whose own tool call it is about; empty where the model asked. `resumed`: a crash had cut it
    off, and it goes on where it was. `kind`: of the channel, whatever its name is; `roles`: of who is answered, where
    they are known.
    """

    agent: str
    turn_id: str
    inbound: Inbound
    iteration: int = 0
    parent_turn_id: str = ""
    model: str = ""
    purpose: Purpose = "turn"
    extension: str = ""
    resumed: bool = False
    kind: str = ""
    roles: tuple[str, ...] = ()
    encoded: dict[str, bytes] = field(default_factory=dict[str, bytes], init=False, compare=False, repr=False)
    """Its parts in JSON by name, kept by whoever encodes them: every question of a step carries the same."""
    heard: dict[str, list[Judgement]] = field(
        default_factory=dict[str, list[Judgement]], init=False, compare=False, repr=False
    )
    """What hooks have said about its calls, by the call's id: for the record of each."""

    @property
    def chat(self) -> Chat:
        return self.inbound.chat

    @property
    def session_key(self) -> str:
        return self.chat.session_key
