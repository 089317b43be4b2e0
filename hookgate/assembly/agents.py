"""The agents of a configuration, and which chat talks to which of them. Knows no conversation."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from functools import lru_cache, partial

from hookgate import config as configuration
from hookgate.approvals.people import People
from hookgate.approvals.requests import Approvals
from hookgate.approvals.surroundings import Surroundings
from hookgate.assembly import delegating
from hookgate.assembly.channels.policies import chosen
from hookgate.assembly.context_files import ContextFiles
from hookgate.assembly.hooks.opening import people
from hookgate.assembly.models import model_of, unknown_of
from hookgate.assembly.narrowing import parts_in, scripts_in
from hookgate.assembly.providers import Keyless
from hookgate.assembly.tools.opening import Toolset, all_rules
from hookgate.config import ConfigError
from hookgate.hooks.gate import Gate
from hookgate.loop.agent import Agent, Retries, Tally
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.match import Globs
from hookgate.protocol.interfaces import Channel, Provider, Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.sections import Config
from hookgate.sections.agent import AgentSection


@dataclass(frozen=True)
class Judges:
    """Who has a say in a call: hooks, then people."""

    gate: Gate
    approvals: Approvals


def surroundings(
    config: Config, gate: Gate, redactor: Redactor | None, channels: Mapping[str, Channel], always: str
) -> Surroundings:
    """What people are asked with, and in which channels; `always`: where such a yes counts. Raises ConfigError."""
    workspace = configuration.workspace_folder(config)
    parts, scripts = parts_in(workspace), partial(scripts_in, workspace)
    given = (gate.events.emit, redactor, str(workspace))
    return Surroundings(*given, channels=channels, parts=parts, scripts=scripts, always=always)


def make_judges(config: Config, gate: Gate, journal: Journal, around: Surroundings) -> Judges:
    return Judges(gate, Approvals(all_rules(config), journal, around, People(people(config))))


@dataclass(frozen=True)
class AgentParts:
    """What all agents of a run are made with."""

    providers: Mapping[str, Provider]
    tools: Toolset
    judges: Judges
    context: ContextFiles | None
    tally: Tally = field(default_factory=Tally)


class Routes:
    """Called with a chat, it names the agent that answers there."""

    def __init__(self, config: Config) -> None:
        self._main = config.agent.name
        self._routes = [(Globs(it.channels), Globs(it.chats), Globs(it.chat_types), it.agent) for it in config.routes]
        self._channels = {name: section.agent for name, section in config.channels.items()}
        self._choosing = {
            name: frozenset(chosen(config, section))
            for name, section in config.channels.items()
            if section.kind == "openai"
        }

    def __call__(self, chat: Chat) -> str:
        if chat.channel in self._choosing:
            # Where nobody asks by this API, nobody waits for its models.
            from hookgate.channels.openai.identity import agent_of

            if (agent := agent_of(chat)) in self._choosing[chat.channel]:
                return agent
        for channels, chats, chat_types, agent in self._routes:
            if channels.covers(chat.channel) and chats.covers(chat.chat_id) and chat_types.covers(chat.chat_type):
                return agent
        return self._channels.get(chat.channel, "") or self._main


class Agents:
    """Called with a chat, it is the gateway's router. `main` is the agent of `[agent]`."""

    def __init__(self, config: Config, parts: AgentParts) -> None:
        self._parts = parts
        self.take(config, self.made(config))

    def made(self, config: Config) -> Mapping[str, Agent]:
        """Those of this configuration, by name. Raises ConfigError."""
        main = _make_agent(config, config.agent, self._parts)
        return {main.name: main, **{name: self._made(config, name) for name in config.agents}}

    def take(self, config: Config, made: Mapping[str, Agent]) -> None:
        """Whoever is asked for from now on is one of these, as this configuration says."""
        self.config = config
        self.main, self._agents = made[config.agent.name], made
        self._routes = Routes(config)
        delegating.offer(config, self._parts.tools.registry, lambda name: self._agents.get(name))

    def __call__(self, chat: Chat) -> Agent:
        return self._agents[self._routes(chat)]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self._agents)

    def named(self, name: str) -> Agent:
        return self._agents[name]

    def _made(self, config: Config, name: str) -> Agent:
        section = config.agents[name]
        return _make_agent(config, section.above(config.agent, name), self._parts, section.tools)


def _make_agent(config: Config, section: AgentSection, parts: AgentParts, tools: tuple[str, ...] = ()) -> Agent:
    provider = parts.providers.get(section.model.partition("/")[0])
    if provider is None:
        raise ConfigError(f"the provider of {section.model} is opened by a new start alone")
    if isinstance(provider, Keyless):
        raise provider.why
    agent = Agent(
        name=section.name,
        model=section.model,
        system=section.system,
        providers=parts.providers,
        gate=parts.judges.gate,
        registry=parts.tools.registry,
        approvals=parts.judges.approvals,
        max_steps=section.max_steps,
        options=section.request_options,
        retries=Retries(section.retries, section.retry_first_ms / 1000, section.retry_longest_ms / 1000),
        text_calls=section.text_tool_calls,
        around=parts.tools.around,
        selection=delegating.selection_of(config, section, tools, parts.tools.selection),
        # Asked at each model call.
        known_model=lru_cache(partial(model_of, config)),
        unknown_of=partial(unknown_of, config),
        kinds={name: it.kind for name, it in config.channels.items()},
        compact_at=section.compact_at,
        delegates_to=section.delegates_to,
        tally=parts.tally,
    )
    return agent if parts.context is None else parts.context.applied(agent)
