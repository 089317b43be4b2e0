"""`[hooks]`: hook processes, and what each is asked."""

from typing import Annotated, Literal, Self, cast

from pydantic import Field, field_validator, model_validator

from hookgate.mistakes import close
from hookgate.protocol.hook.match import unknown_event
from hookgate.protocol.hook.stages import Stage
from hookgate.sections.section import Count, Globs, Later, MatchSection, Milliseconds, Mode, Section, Several, nested

Policy = Literal["continue", "deny", "abort"]
StageName = Annotated[Stage, Field(strict=False)]


class HookDefaults(Section):
    observer_timeout_ms: Milliseconds = 500
    interceptor_timeout_ms: Milliseconds = 5000
    approver_timeout_ms: Milliseconds = 60_000
    hello_timeout_ms: Milliseconds = 10_000
    max_message_bytes: Annotated[int, Field(ge=1024, le=1024**3)] = 16 * 1024 * 1024
    restart_first_ms: Milliseconds = 250
    restart_longest_ms: Milliseconds = 30_000
    quarantine_after: Count = 5
    quarantine_window_ms: Milliseconds = 60_000
    quarantine_probe_ms: Milliseconds = 60_000


class HookSection(Section):
    command: Annotated[Several[str], Field(min_length=1)]
    dir: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: Several[str] = ()
    inherit_env: bool = False
    priority: int = 0
    intercept: Several[StageName] = ()
    observe: Globs = ()
    event_method: Literal["hook.event", "hook.runtime_event"] = "hook.event"
    match: Later[MatchSection] = nested(MatchSection)
    mode: Mode = "enforce"
    on_failure: Policy | dict[StageName, Policy] = "continue"
    timeout_ms: Milliseconds | dict[StageName, Milliseconds] | None = None
    max_in_flight: Count = 256
    may_modify: Several[str] | None = None
    may_respond_unapproved: bool = False
    required: bool = False
    singleton: bool = False

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
    def _does_something(self) -> Self:
        if not self.intercept and not self.observe:
            tools = 'one that brings tools is asked for them with intercept = ["before_tool"]'
            raise ValueError(f"it neither intercepts nor observes anything: {tools}")
        if self.singleton and (self.intercept or self.required):
            what = "intercepts" if self.intercept else "is required"
            raise ValueError(
                f"singleton: it {what}, so each gateway needs one of its own: leave it out, or only observe"
            )
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
    "text",
    *("for_llm", "for_user", "silent", "is_error", "async", "media", "artifact_tags", "response_handled", "error"),
)


class HooksSection(Section):
    defaults: Later[HookDefaults] = nested(HookDefaults)
    processes: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]{1,64}$")], Later[HookSection]] = Field(
        default_factory=dict
    )
