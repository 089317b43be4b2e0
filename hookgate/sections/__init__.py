"""`hookgate.toml` as frozen models: every key, its type, its usual value, subject by subject. Reads no file."""

from collections.abc import Collection
from typing import Annotated, Literal, Self
from urllib.parse import urlsplit

from pydantic import Field, field_validator, model_validator

from hookgate.mistakes import close
from hookgate.sections.agent import AgentSection, AssistantSection, ModelSection, ProviderSection
from hookgate.sections.approvals import ApprovalSection, PersonSection
from hookgate.sections.gateway import KEYED, ChannelSection, GatewaySection, HttpSection, RouteSection
from hookgate.sections.guards import GuardsSection
from hookgate.sections.hooks import HooksSection
from hookgate.sections.section import Later, Name, Section, Several, nested
from hookgate.sections.skills import SkillsSection
from hookgate.sections.telemetry import TelemetrySection
from hookgate.sections.tools import DynamicSection, McpDefaults, ToolsSection
from hookgate.sections.zot import ZotSection


class StoreSection(Section):
    """`durability`: what the journal holds out against, the end of the machine's power or of the process alone.
    `url`: of a PostgreSQL that has the journal in the place of a file.
    `keep_days`, `keep_mb` 0: no limit. `media_mb`, `media_user_mb`: of files in all, and that one user has sent."""

    path: str = ""
    journal: str = ""
    url: str = ""
    durability: Literal["power", "process"] = "power"
    keep_days: Annotated[float, Field(ge=0, strict=False)] = 0
    keep_mb: Annotated[float, Field(ge=0, strict=False)] = 0
    media_mb: Annotated[float, Field(gt=0, strict=False)] = 2000
    media_user_mb: Annotated[float, Field(gt=0, strict=False)] = 500

    @field_validator("url")
    @classmethod
    def _address(cls, url: str) -> str:
        parts = urlsplit(url)
        if url and parts.scheme not in ("postgresql", "postgres"):
            raise ValueError("an address is postgresql://USER@HOST:PORT/NAME")
        if parts.password is not None or "password=" in parts.query:
            raise ValueError("it holds a password: set PGPASSWORD, or write it in ~/.pgpass")
        return url


class LogSection(Section):
    level: Literal["debug", "info", "warning", "error"] = "warning"
    format: Literal["text", "json"] = "text"


class ControlSection(Section):
    enabled: bool = True
    path: str = ""


class Config(Section):
    agent: Later[AgentSection] = nested(AgentSection)
    agents: dict[Name, Later[AssistantSection]] = Field(default_factory=dict)
    providers: dict[Name, Later[ProviderSection]] = Field(default_factory=dict)
    models: dict[Annotated[str, Field(pattern=r"^[^/]+/.+$")], Later[ModelSection]] = Field(default_factory=dict)
    hooks: Later[HooksSection] = nested(HooksSection)
    people: dict[Name, Later[PersonSection]] = Field(default_factory=dict)
    approvals: Several[Later[ApprovalSection]] = ()
    tools: Later[ToolsSection] = nested(ToolsSection)
    skills: Later[SkillsSection] = nested(SkillsSection)
    guards: Later[GuardsSection] = nested(GuardsSection)
    dynamic: Later[DynamicSection] = nested(DynamicSection)
    mcp: Later[McpDefaults] = nested(McpDefaults)
    zot: Later[ZotSection] = nested(ZotSection)
    gateway: Later[GatewaySection] = nested(GatewaySection)
    channels: dict[Name, Later[ChannelSection]] = Field(default_factory=dict)
    routes: Several[Later[RouteSection]] = ()
    http: Later[HttpSection] = nested(HttpSection)
    store: Later[StoreSection] = nested(StoreSection)
    log: Later[LogSection] = nested(LogSection)
    telemetry: Later[TelemetrySection] = nested(TelemetrySection)
    control: Later[ControlSection] = nested(ControlSection)

    @property
    def keyed(self) -> tuple[str, ...]:
        """What a key can be for: channels and surfaces that answer programs, by name."""
        return (*(name for name, it in self.channels.items() if it.kind in KEYED), *self.http.surfaces)

    @field_validator("approvals")
    @classmethod
    def _names_rules_apart(cls, rules: tuple[ApprovalSection, ...]) -> tuple[ApprovalSection, ...]:
        """What a person allows for a conversation is kept by the rule's name."""
        names = [rule.name for rule in rules if rule.name]
        for name in names:
            if names.count(name) > 1:
                raise ValueError(f"there are two rules named {name!r}")
        return rules

    @field_validator("people")
    @classmethod
    def _knows_each_id_once(cls, people: dict[str, PersonSection]) -> dict[str, PersonSection]:
        """Whoever comes under an id is one person."""
        known: dict[str, str] = {}
        for name, person in people.items():
            if name == "requester":
                raise ValueError("'requester' is whoever a turn answers: call this person otherwise")
            for id_ in person.ids:
                if known.setdefault(id_, name) != name:
                    raise ValueError(f"{known[id_]} and {name} both have the id {id_!r}")
        return people

    @model_validator(mode="after")
    def _knows_its_names(self) -> Self:
        models = {"agent": self.agent.model, **{f"agents.{name}": it.model for name, it in self.agents.items()}}
        for place, model in models.items():
            _known(f"{place}.model", "provider", (model or "").partition("/")[0], self.providers)
        if self.agent.name in self.agents:
            raise ValueError(f"agents.{self.agent.name} has the name of [agent]: give it another, or agent.name")
        if len([it for it in self.channels.values() if it.kind == "web" and not it.origin]) > 1:
            raise ValueError("channels: of several pages only one may be without origin: the others are known by it")
        if len([it for it in self.channels.values() if it.kind == "openai"]) > 1:
            raise ValueError("channels: one of the kind 'openai' is enough, since all of them would answer at /v1")
        if taken := next((name for name in self.http.surfaces if name in self.channels), ""):
            # Whoever has a key for the one would be somebody of the other.
            why = f"is what answers at /{taken}: give the channel another name, or set http.{taken} to false"
            raise ValueError(f"channels.{taken} {why}")
        agents = (self.agent.name, *self.agents)
        delegating = {"agent": self.agent, **{f"agents.{name}": it for name, it in self.agents.items()}}
        for place, section in delegating.items():
            for name in section.delegates_to:
                _known(f"{place}.delegates_to", "agent", name, agents)
        for name, channel in self.channels.items():
            _known(f"channels.{name}.agent", "agent", channel.agent, agents)
            for glob in channel.agents:
                if not set(glob) & set("*?["):
                    _known(f"channels.{name}.agents", "agent", glob.removeprefix("!"), agents)
        for number, route in enumerate(self.routes):
            _known(f"routes.{number}.agent", "agent", route.agent, agents)
        return self


def _known(place: str, kind: str, name: str, names: Collection[str]) -> None:
    if name and name not in names:
        raise ValueError(f"{place} names the {kind} {name!r}, but there is no [{kind}s.{name}]{close(name, names)}")
