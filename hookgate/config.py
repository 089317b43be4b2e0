"""`hookgate.toml` as frozen models. The only reader of configuration files and of the environment.

Every mistake is a ConfigError with the place in the file; nothing unknown is ever ignored.
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from hookgate.mistakes import close, mistakes
from hookgate.protocol.match import unknown_event
from hookgate.protocol.stages import Stage

FILE_NAME = "hookgate.toml"
BASE_ENVIRONMENT = ("PATH", "HOME", "LANG", "TMPDIR")
"""All that a child process gets unless the configuration lists more: secrets do not leak by default."""

Policy = Literal["continue", "deny", "abort"]
Milliseconds = Annotated[int, Field(gt=0, le=86_400_000)]
Globs = tuple[str, ...]


class ConfigError(Exception):
    """The configuration cannot be used; the text is one line that names the file and the place.

    `others` are further mistakes, a line each, where there is more than one.
    """

    def __init__(self, text: str, others: tuple[str, ...] = ()) -> None:
        super().__init__(text)
        self.others = others


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


class ToolsSection(Section):
    enabled: Globs = ("*",)
    sandbox: Literal["auto", "required", "off"] = "auto"
    sandbox_network: Literal["open", "off"] = "open"
    web_fetch_private: bool = False


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
    hooks: HooksSection = _nested()
    approvals: tuple[ApprovalSection, ...] = ()
    tools: ToolsSection = _nested()
    log: LogSection = _nested()
    control: ControlSection = _nested()

    @model_validator(mode="after")
    def _knows_its_provider(self) -> Config:
        provider = self.agent.model.partition("/")[0]
        if provider and provider not in self.providers:
            raise ValueError(f"agent.model names the provider {provider!r}, but there is no [providers.{provider}]")
        return self


# --- reading ------------------------------------------------------------------------------------------------


def load(path: Path | None) -> tuple[Config, Path]:
    """The configuration and the file it stands in; without `path` it is `hookgate.toml` here. Raises ConfigError."""
    file = path or Path(FILE_NAME)
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        hint = "" if path else " (run `hookgate init` to write one)"
        raise ConfigError(f"{file}: there is no such file{hint}") from None
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{file}: cannot be read: {error}") from None
    return parse(text, file), file.resolve()


def parse(text: str, file: Path) -> Config:
    try:
        data = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"{file}: {error}") from None
    try:
        return Config.model_validate(data)
    except ValidationError as error:
        first, *others = mistakes(error, Config)
        more = f" (and {len(others)} more)" if others else ""
        raise ConfigError(f"{file}: {first}{more}", tuple(f"{file}: {other}" for other in others)) from None


def workspace_folder(config: Config) -> Path:
    """The working directory unless `agent.workspace` says otherwise. Raises ConfigError where it is no folder."""
    workspace = Path(config.agent.workspace).expanduser() if config.agent.workspace else Path.cwd()
    if not workspace.is_dir():
        raise ConfigError(f"agent.workspace: {workspace} is not a folder")
    return workspace.resolve()


# --- the environment ----------------------------------------------------------------------------------------


def secret(name: str) -> str | None:
    """The value of an API key's variable; None without a name. Raises ConfigError where it is not set."""
    if not name:
        return None
    value = os.environ.get(name, "")
    if not value:
        raise ConfigError(f"the environment variable {name} is not set (a provider's api_key_env names it)")
    return value


def base_environment() -> dict[str, str]:
    return {name: os.environ[name] for name in BASE_ENVIRONMENT if name in os.environ}


def hook_environment(section: HookSection) -> dict[str, str]:
    """What a hook process sees: the base set, or everything, and then what its section lists."""
    inherited = dict(os.environ) if section.inherit_env else base_environment()
    passed = {name: os.environ[name] for name in section.env_pass if name in os.environ}
    return {**inherited, **passed, **section.env}


def runtime_directory() -> Path:
    """Where control sockets live: `$XDG_RUNTIME_DIR/hookgate`, else a folder of this user's in the temporary one."""
    base = os.environ.get("XDG_RUNTIME_DIR")
    if base:
        return Path(base) / "hookgate"
    return Path(os.environ.get("TMPDIR", "/tmp")) / f"hookgate-{os.getuid()}"  # noqa: S108 - checked before use
