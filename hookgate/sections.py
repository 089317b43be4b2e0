"""The sections of `hookgate.toml` as frozen models: every key, its type, its usual value. Reads no file."""

from __future__ import annotations

from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from hookgate.mistakes import close
from hookgate.protocol.match import unknown_event
from hookgate.protocol.stages import Stage

Policy = Literal["continue", "deny", "abort"]
Milliseconds = Annotated[int, Field(gt=0, le=86_400_000)]
Globs = tuple[str, ...]


class Section(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", defer_build=True)


def _nested() -> Any:  # noqa: ANN401 - takes the type of the field
    """A section that may be missing, validated with the whole: for a default of its own a model would be built."""
    return Field(default_factory=dict, validate_default=True)


class AgentSection(Section):
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")] = "main"
    model: str = ""
    system: str = "You are a helpful assistant."
    max_steps: Annotated[int, Field(ge=1)] = 50
    workspace: str = ""
    temperature: float | None = None
    max_tokens: Annotated[int, Field(ge=1)] | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    retries: Annotated[int, Field(ge=0, le=10)] = 2
    retry_first_ms: Milliseconds = 1000
    retry_longest_ms: Milliseconds = 60_000
    show_denials: bool = False
    text_tool_calls: Literal["off", "tags", "all"] = "tags"
    compact_at: Annotated[float, Field(ge=0, le=1)] = 0.85

    @field_validator("model")
    @classmethod
    def _names_a_provider(cls, model: str) -> str:
        provider, slash, name = model.partition("/")
        if model and not (provider and slash and name):
            raise ValueError("write it PROVIDER/MODEL, for example openai/gpt-5-mini")
        return model

    @property
    def request_options(self) -> dict[str, Any]:
        named = {"temperature": self.temperature, "max_tokens": self.max_tokens}
        return {**self.options, **{name: value for name, value in named.items() if value is not None}}


class ProviderSection(Section):
    kind: Literal["openai", "anthropic", "scripted"]
    base_url: str = ""
    api_key_env: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    idle_timeout_ms: Milliseconds = 120_000
    headers: dict[str, str] = Field(default_factory=dict)
    script: str = ""

    @field_validator("base_url")
    @classmethod
    def _is_http(cls, url: str) -> str:
        if url and not url.startswith(("http://", "https://")):
            raise ValueError("must start with http:// or https://")
        return url.rstrip("/")

    @model_validator(mode="after")
    def _is_complete(self) -> ProviderSection:
        if self.kind == "scripted" and not self.script:
            raise ValueError('a scripted provider needs script = "FILE.json"')
        return self


Tokens = Annotated[int, Field(ge=1)]
Dollars = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class ModelSection(Section):
    """What hookgate does not know of a model, or knows wrong. `prices`: US dollars for a million tokens of input,
    output, and, if they differ from input, cache reads and cache writes."""

    context_window: Tokens | None = None
    max_output: Tokens | None = None
    reasoning: bool | None = None
    prices: Annotated[tuple[Dollars, ...], Field(min_length=2, max_length=4)] | None = None


class MatchSection(Section):
    channels: Globs = ()
    chats: Globs = ()
    chat_types: Globs = ()
    senders: Globs = ()
    tools: Globs = ()
    models: Globs = ()
    agents: Globs = ()


class HookDefaults(Section):
    observer_timeout_ms: Milliseconds = 500
    interceptor_timeout_ms: Milliseconds = 5000
    approver_timeout_ms: Milliseconds = 60_000
    hello_timeout_ms: Milliseconds = 10_000
    max_message_bytes: Annotated[int, Field(ge=1024)] = 16 * 1024 * 1024
    restart_first_ms: Milliseconds = 250
    restart_longest_ms: Milliseconds = 30_000
    quarantine_after: Annotated[int, Field(ge=1)] = 5
    quarantine_window_ms: Milliseconds = 60_000
    quarantine_probe_ms: Milliseconds = 60_000


class HookSection(Section):
    command: Annotated[tuple[str, ...], Field(min_length=1)]
    dir: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    inherit_env: bool = False
    priority: int = 0
    intercept: tuple[Stage, ...] = ()
    observe: Globs = ()
    event_method: Literal["hook.event", "hook.runtime_event"] = "hook.event"
    match: MatchSection = _nested()
    mode: Literal["enforce", "audit", "off"] = "enforce"
    on_failure: Policy | dict[Stage, Policy] = "continue"
    timeout_ms: Milliseconds | dict[Stage, Milliseconds] | None = None
    max_in_flight: Annotated[int, Field(ge=1)] = 256
    may_modify: tuple[str, ...] | None = None
    may_respond_unapproved: bool = False
    required: bool = False

    @field_validator("intercept", mode="before")
    @classmethod
    def _names_stages(cls, names: object) -> object:
        for name in cast("list[object]", names if isinstance(names, list) else []):
            if name not in set(Stage):
                raise ValueError(f"{name!r} is no stage{close(str(name), Stage)}")
        return cast("object", names)

    @field_validator("observe")
    @classmethod
    def _names_events(cls, patterns: Globs) -> Globs:
        for pattern in patterns:
            if unknown_event(pattern):
                raise ValueError(f"{pattern!r} covers no event that exists")
        return patterns

    @field_validator("may_modify")
    @classmethod
    def _names_members(cls, names: tuple[str, ...] | None) -> tuple[str, ...] | None:
        for name in names or ():
            if name not in MODIFIABLE:
                raise ValueError(f"{name!r} is nothing that a hook can modify{close(name, MODIFIABLE)}")
        return names

    @model_validator(mode="after")
    def _does_something(self) -> HookSection:
        if not self.intercept and not self.observe:
            raise ValueError("it neither intercepts nor observes anything")
        policies = self.on_failure if isinstance(self.on_failure, dict) else {}
        if policies.get(Stage.APPROVE_TOOL, "deny") != "deny":
            raise ValueError("on_failure.approve_tool is always deny")
        return self

    def policy(self, stage: Stage) -> Policy:
        return self.on_failure.get(stage, "continue") if isinstance(self.on_failure, dict) else self.on_failure


MODIFIABLE = (
    *("model", "messages", "tools", "options"),
    *("content", "tool_calls", "finish_reason", "reasoning_content"),
    *("tool", "arguments"),
    *("for_llm", "for_user", "silent", "is_error", "async", "media", "artifact_tags", "response_handled", "error"),
)


class HooksSection(Section):
    defaults: HookDefaults = _nested()
    processes: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")], HookSection] = Field(
        default_factory=dict
    )


class ApprovalSection(MatchSection):
    name: str = ""
    approvers: tuple[str, ...] = ()
    ttl_s: Annotated[float, Field(gt=0)] = 600.0

    @model_validator(mode="after")
    def _names_tools(self) -> ApprovalSection:
        if not self.tools:
            raise ValueError('name the tools it is about, for example tools = ["bash"] (or ["*"])')
        return self


class PreferenceSection(Section):
    """`tools`: names, globs, or `provider:` and a glob over providers. Empty `channels`: all of them."""

    tools: Annotated[Globs, Field(min_length=1)]
    channels: Globs = ()
    enabled: bool | None = None
    weight: Annotated[float, Field(ge=0, le=1)] | None = None
    overrides: dict[str, Any] = Field(default_factory=dict)


class ToolsSection(Section):
    """`max_tools`, `max_tokens` 0: no limit to what a request ships; `pinned` tools always go along."""

    enabled: Globs = ("*",)
    sandbox: Literal["auto", "required", "off"] = "auto"
    sandbox_network: Literal["open", "off"] = "open"
    web_fetch_private: bool = False
    output: Literal["labeled", "json"] = "labeled"
    pure: Globs = ()
    memo: bool = True
    max_tools: Annotated[int, Field(ge=0)] = 0
    max_tokens: Annotated[int, Field(ge=0)] = 0
    pinned: Globs = ()
    preferences: tuple[PreferenceSection, ...] = ()
    aliases: dict[str, dict[str, str]] = Field(default_factory=dict)


Mode = Literal["enforce", "audit", "off"]


class GuardSection(Section):
    mode: Mode = "enforce"

    @model_validator(mode="before")
    @classmethod
    def _or_one_word(cls, given: object) -> object:
        """`loop = "off"` is short for `loop = { mode = "off" }`; true and false do as well."""
        if isinstance(given, bool):
            return {"mode": "enforce" if given else "off"}
        return {"mode": given} if isinstance(given, str) else given


Count = Annotated[int, Field(ge=1)]


class LoopGuard(GuardSection):
    """How often the same call may fail before advice and refusal, the same tool with other arguments, and how much
    advice one turn gets; `repeats`: successes of one read-only call before advice."""

    same_advice: Count = 3
    same_refuse: Count = 4
    tool_advice: Count = 4
    tool_refuse: Count = 8
    advice_limit: Count = 5
    repeats: Count = 5


class FanOutGuard(GuardSection):
    """Calls of one tool in one turn; a tool that is not named is not limited."""

    limits: dict[str, Count] = Field(default_factory=lambda: {"ls": 20, "grep": 30, "glob": 20})


class ReadBeforeWriteGuard(GuardSection):
    strict: bool = False


class PlanFirstGuard(GuardSection):
    mode: Mode = "off"
    plan_tools: Globs = ("plan",)


class TestEditGuard(GuardSection):
    mode: Mode = "off"
    refuse: bool = False


class ShellGuard(GuardSection):
    profile: Literal["relaxed", "standard", "read_only"] = "standard"


class RedactionGuard(GuardSection):
    """`secret_env` names variables whose values are replaced wherever they turn up, besides the providers' keys."""

    secret_env: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()

    @field_validator("mode")
    @classmethod
    def _is_on_or_off(cls, mode: Mode) -> Mode:
        if mode == "audit":
            raise ValueError('redaction is "enforce" or "off": what it only noted would have left')
        return mode


class GuardsSection(Section):
    """The guards that come with hookgate; `schema` is always on."""

    loop: LoopGuard = _nested()
    fan_out: FanOutGuard = _nested()
    read_before_write: ReadBeforeWriteGuard = _nested()
    plan_first: PlanFirstGuard = _nested()
    test_edit: TestEditGuard = _nested()
    shell: ShellGuard = _nested()
    redaction: RedactionGuard = _nested()


class DynamicSection(Section):
    """Tools that are made at run time, by the model or by people. `operator` packages that `requires` may name."""

    enabled: bool = False
    folder: str = ""
    max_tools: Annotated[int, Field(ge=1)] = 32
    packages: tuple[str, ...] = ()
    argv_roots: tuple[str, ...] = ()


class McpSection(Section):
    """One MCP server. `read_only` and `pure`: globs over its tools' own names that the operator vouches for."""

    transport: Literal["stdio", "http"] = "stdio"
    command: tuple[str, ...] = ()
    dir: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    url: str = ""
    token_env: Annotated[str, Field(pattern=r"^([A-Za-z_][A-Za-z0-9_]*)?$")] = ""
    allow_private: bool = False
    read_only: Globs = ()
    pure: Globs = ()
    tools: Globs = ("*",)
    required: bool = False
    enabled: bool = True
    connect_timeout_ms: Milliseconds = 10_000
    timeout_ms: Milliseconds = 60_000

    @model_validator(mode="after")
    def _fits_its_transport(self) -> McpSection:
        if self.transport == "stdio" and (not self.command or self.url or self.token_env):
            raise ValueError("a stdio server has a command, and neither url nor token_env")
        if self.transport == "http" and (not self.url or self.command):
            raise ValueError("an http server has a url and no command")
        return self


class McpDefaults(Section):
    """`model_may_connect`: whether the model has mcp_connect, mcp_disconnect and mcp_list, behind approval."""

    model_may_connect: bool = False
    servers: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")], McpSection] = Field(default_factory=dict)


class ZotExtension(Section):
    """One extension, by its manifest's name. `timeout_ms`: how long an interception may take; `match`: the chats that
    have its tools and commands, and the calls that it is asked about."""

    enabled: bool = True
    fail_closed: bool | None = None
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: tuple[str, ...] = ()
    match: MatchSection = _nested()
    timeout_ms: Milliseconds | None = None


class ZotSection(Section):
    """zot extensions. `discover`: whether those of the project are loaded as well; unset, a chat does and a daemon
    does not. `home`: empty for zot's usual one; `version`: what they are told of zot's, empty for hookgate's.
    `priority`: of all of them among the hooks."""

    enabled: bool = True
    discover: bool | None = None
    home: str = ""
    version: str = ""
    priority: int = 0
    fail_closed: bool = False
    hello_timeout_ms: Milliseconds = 10_000
    extensions: dict[str, ZotExtension] = Field(default_factory=dict)


class StoreSection(Section):
    path: str = ""


class LogSection(Section):
    level: Literal["debug", "info", "warning", "error"] = "warning"
    format: Literal["text", "json"] = "text"


class ControlSection(Section):
    enabled: bool = True
    path: str = ""


class Config(Section):
    agent: AgentSection = _nested()
    providers: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")], ProviderSection] = Field(
        default_factory=dict
    )
    models: dict[Annotated[str, Field(pattern=r"^[^/]+/.+$")], ModelSection] = Field(default_factory=dict)
    hooks: HooksSection = _nested()
    approvals: tuple[ApprovalSection, ...] = ()
    tools: ToolsSection = _nested()
    guards: GuardsSection = _nested()
    dynamic: DynamicSection = _nested()
    mcp: McpDefaults = _nested()
    zot: ZotSection = _nested()
    store: StoreSection = _nested()
    log: LogSection = _nested()
    control: ControlSection = _nested()

    @model_validator(mode="after")
    def _knows_its_provider(self) -> Config:
        provider = self.agent.model.partition("/")[0]
        if provider and provider not in self.providers:
            raise ValueError(f"agent.model names the provider {provider!r}, but there is no [providers.{provider}]")
        return self
