"""`[tools]`, `[dynamic]` and `[mcp]`: which tools there are, and which of them a request ships."""

from typing import Annotated, Any, Literal, Self

from pydantic import Field, model_validator

from hookgate.sections.section import (
    Channels,
    Chosen,
    Count,
    Globs,
    Later,
    Milliseconds,
    Section,
    Several,
    Variable,
    nested,
)


class PreferenceSection(Section):
    """`tools`: names, globs, or `provider:` and a glob over providers. Empty `channels`: all of them."""

    tools: Annotated[Globs, Field(min_length=1)]
    channels: Channels = ()
    enabled: bool | None = None
    weight: Annotated[float, Field(ge=0, le=1)] | None = None
    overrides: dict[str, Any] = Field(default_factory=dict)


class DelegateSection(Section):
    """Tasks that agents hand on. `depth`: how many may lead to each other; `per_turn`: how many one message may lead
    to; `at_once`: of one turn; `timeout_ms`: of each, without the time in which a person is waited for."""

    depth: Annotated[int, Field(ge=1, le=8)] = 2
    per_turn: Annotated[int, Field(ge=1, le=1000)] = 20
    at_once: Annotated[int, Field(ge=1, le=64)] = 4
    timeout_ms: Milliseconds = 1_800_000


class ToolsSection(Section):
    """`max_tools`, `max_tokens` 0: no limit to what a request ships; `pinned` tools always go along.

    `kept`: paths and globs, from the workspace, that no tool may change besides what hookgate keeps by itself.
    """

    enabled: Chosen = ("*",)
    sandbox: Literal["auto", "required", "off"] = "auto"
    sandbox_network: Literal["open", "off"] = "open"
    web_fetch_private: bool = False
    output: Literal["labeled", "json"] = "labeled"
    kept: Globs = ()
    pure: Globs = ()
    memo: bool = True
    max_tools: Annotated[int, Field(ge=0)] = 0
    max_tokens: Annotated[int, Field(ge=0)] = 0
    pinned: Globs = ()
    preferences: Several[Later[PreferenceSection]] = ()
    aliases: dict[str, dict[str, str]] = Field(default_factory=dict)
    delegate: Later[DelegateSection] = nested(DelegateSection)


class DynamicSection(Section):
    """Tools that are made at run time, by the model or by people. `operator` packages that `requires` may name."""

    enabled: bool = False
    folder: str = ""
    max_tools: Count = 32
    packages: Several[str] = ()
    argv_roots: Several[str] = ()


class McpSection(Section):
    """One MCP server. `read_only` and `pure`: globs over its tools' own names that the operator vouches for."""

    transport: Literal["stdio", "http"] = "stdio"
    command: Several[str] = ()
    dir: str = ""
    env: dict[str, str] = Field(default_factory=dict)
    env_pass: Several[str] = ()
    url: str = ""
    token_env: Variable = ""
    allow_private: bool = False
    read_only: Globs = ()
    pure: Globs = ()
    tools: Chosen = ("*",)
    required: bool = False
    enabled: bool = True
    connect_timeout_ms: Milliseconds = 10_000
    timeout_ms: Milliseconds = 60_000

    @model_validator(mode="after")
    def _fits_its_transport(self) -> Self:
        if self.transport == "stdio" and (not self.command or self.url or self.token_env):
            raise ValueError("a stdio server has a command, and neither url nor token_env")
        if self.transport == "http" and (not self.url or self.command):
            raise ValueError("an http server has a url and no command")
        return self


class McpDefaults(Section):
    """`model_may_connect`: whether the model has mcp_connect, mcp_disconnect and mcp_list, behind approval."""

    model_may_connect: bool = False
    servers: dict[Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]{1,63}$")], Later[McpSection]] = Field(
        default_factory=dict
    )
