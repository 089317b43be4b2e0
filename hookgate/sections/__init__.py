"""`hookgate.toml` as frozen models: every key, its type, its usual value, subject by subject. Reads no file."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, field_validator, model_validator

from hookgate.mistakes import close
from hookgate.sections.agent import AgentSection, ModelSection, ProviderSection
from hookgate.sections.guards import GuardsSection
from hookgate.sections.hooks import ApprovalSection, HooksSection
from hookgate.sections.section import Count, Section, Several, nested
from hookgate.sections.skills import SkillsSection
from hookgate.sections.tools import DynamicSection, McpDefaults, ToolsSection
from hookgate.sections.zot import ZotSection


class GatewaySection(Section):
    """`max_turns`: how many conversations are at work at once; one that waits for a person is not."""

    max_turns: Count = 8


class StoreSection(Section):
    path: str = ""
    journal: str = ""


class LogSection(Section):
    level: Literal["debug", "info", "warning", "error"] = "warning"
    format: Literal["text", "json"] = "text"


class ControlSection(Section):
    enabled: bool = True
    path: str = ""


class Config(Section):
    agent: AgentSection = nested()
    providers: dict[Annotated[str, Field(pattern=r"^[A-Za-z0-9_.-]+$")], ProviderSection] = Field(
        default_factory=dict
    )
    models: dict[Annotated[str, Field(pattern=r"^[^/]+/.+$")], ModelSection] = Field(default_factory=dict)
    hooks: HooksSection = nested()
    approvals: Several[ApprovalSection] = ()
    tools: ToolsSection = nested()
    skills: SkillsSection = nested()
    guards: GuardsSection = nested()
    dynamic: DynamicSection = nested()
    mcp: McpDefaults = nested()
    zot: ZotSection = nested()
    gateway: GatewaySection = nested()
    store: StoreSection = nested()
    log: LogSection = nested()
    control: ControlSection = nested()

    @field_validator("approvals")
    @classmethod
    def _names_rules_apart(cls, rules: tuple[ApprovalSection, ...]) -> tuple[ApprovalSection, ...]:
        """What a person allows for a conversation is kept by the rule's name."""
        names = [rule.name for rule in rules if rule.name]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"there are two rules named {name!r}")
        return rules

    @model_validator(mode="after")
    def _knows_its_provider(self) -> Config:
        provider = self.agent.model.partition("/")[0]
        if provider and provider not in self.providers:
            lacking = f"there is no [providers.{provider}]{close(provider, self.providers)}"
            raise ValueError(f"agent.model names the provider {provider!r}, but {lacking}")
        return self
