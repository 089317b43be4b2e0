"""A running hookgate: everything the configuration names, opened in order and closed in reverse."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import field
from functools import partial
from typing import TYPE_CHECKING

import structlog
import trio

from hookgate import config as configuration
from hookgate.approvals.surroundings import always_counts
from hookgate.assembly.agents import AgentParts, Agents, make_judges, surroundings
from hookgate.assembly.channels.desk import Desk
from hookgate.assembly.channels.opening import OpenChannels, Page, open_channels
from hookgate.assembly.channels.policies import Policies, approvers
from hookgate.assembly.context_files import ContextFiles
from hookgate.assembly.extensions.extensions import Extensions, Joints
from hookgate.assembly.extensions.looking import looked
from hookgate.assembly.hooks.opening import listed, people, plans, restarts
from hookgate.assembly.logs.opening import redacted_logs
from hookgate.assembly.providers import open_providers
from hookgate.assembly.redacting import make_redactor
from hookgate.assembly.settings import Ports, Settings
from hookgate.assembly.telemetry import Telemetry, open_telemetry
from hookgate.assembly.tools.opening import More, Toolset, all_rules, open_more_tools, open_toolset
from hookgate.assembly.tools.skills import Joined, Skills, load_skills, switched_on
from hookgate.channels.http.keys import Keys
from hookgate.config import ConfigError
from hookgate.hooks.children.mounts import Mounts, Plan, open_mounts
from hookgate.hooks.children.singleton import Singletons
from hookgate.hooks.gate import Gate
from hookgate.hooks.rules import Mount
from hookgate.loop.agent import Agent
from hookgate.loop.doors.guests import Guests
from hookgate.loop.gateway import Gateway
from hookgate.loop.places import Places
from hookgate.loop.slots import Shared
from hookgate.processes.guardian.reaper import run_reaper
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.events.payloads import RegistryChanged
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.interfaces import Channel, Redactor, Tool
from hookgate.protocol.journal.interfaces import Journal
from hookgate.sections import Config
from hookgate.store.memory import MemoryJournal
from hookgate.tools.errors import BadSpec
from hookgate.tools.registry import Change, Registry
from hookgate.tools.schema.spec import spec_problem

if TYPE_CHECKING:
    from hookgate.approvals.requests import Approvals
    from hookgate.channels.http.server import App
    from hookgate.loop.sessions.session import Session

log = structlog.get_logger("hookgate.config")


@dataclass(frozen=True)
class Runtime:
    settings: Settings
    ports: Ports
    agents: Agents
    gate: Gate
    mounts: Mounts
    gateway: Gateway
    policies: Policies
    channels: Mapping[str, Channel]
    pages: Mapping[str, Page]
    endpoints: Mapping[str, App]
    journal: Journal
    keys: Keys
    tools: Toolset
    more: More
    telemetry: Telemetry
    extensions: Extensions | None = None
    skills: Skills | None = None
    context_files: ContextFiles | None = None
    guests: Guests | None = None
    reloading: trio.Lock = field(default_factory=trio.Lock)

    @property
    def agent(self) -> Agent:
        """The one that answers where nothing else is said."""
        return self.agents.main

    def text_problems(self) -> tuple[str, ...]:
        """A line for each skill that cannot be loaded, and each context file that was left out."""
        skills = self.skills.problems() if self.skills is not None else ()
        return (*skills, *(self.context_files.problems if self.context_files is not None else ()))

    async def tried(self) -> None:
        """Until every hook and MCP server has been tried once: for what ends before a slow one would be there."""
        await self.mounts.tried()
        if self.more.roster is not None:
            await self.more.roster.connections.tried()


Opened = Callable[[Runtime], None]


def unheard(_runtime: Runtime) -> None:
    """Nobody wants to know."""


@asynccontextmanager
async def open_runtime(settings: Settings, ports: Ports, early: Opened = unheard) -> AsyncGenerator[Runtime]:
    """Hooks started, tools registered, nothing asked yet; leaving stops every process and closes every connection.
    `early` hears of it while hooks still start: it can be looked at, and takes nothing in.
    Raises ConfigError, RequiredHookFailed."""
    config = settings.config
    if not config.agent.model:
        raise configuration.no_model(config)
    async with AsyncExitStack() as stack:
        redactor = _open_redactor(stack, settings)
        telemetry = await stack.enter_async_context(
            open_telemetry(config.telemetry, serving=settings.serving, watched=ports.watched)
        )
        gate = Gate(frozenset({*config.providers, *ports.providers}), redactor, spec_problem)
        providers = await open_providers(stack, settings, ports.providers)
        tools = await _open_tools(stack, settings, ports, gate, redactor)
        extensions = await make_extensions(settings, ports, tools, gate)
        await refuse_what_does_not_guard(settings, ports.inside, tools.registry)
        skills = await load_skills(config, settings.skills, Joined(tools.registry, extensions, tools.rechecks.file))
        context = make_context_files(settings, tools, lambda key: gateway.sessions.get(key))
        journal = ports.journal or MemoryJournal()
        policies = Policies(config, serving=settings.serving, lists_calls=ports.lists_calls)
        desk = Desk(journal, redactor, tools.media, policies)
        opened = await open_channels(stack, config, desk) if settings.serving else OpenChannels()
        mounted = (*(it.mount for it in (skills, context) if it is not None), *opened.mounts, *telemetry.mounts)
        inside = (*own_guards(config, tools), *(extensions.inside if extensions else ()), *mounted, *ports.inside)
        mounts = Mounts(gate, restarts(config.hooks.defaults), inside, Singletons(journal.cluster))
        await stack.enter_async_context(open_mounts(mounts, _plans(settings, tools, extensions), wait=False))
        channels = {**opened.channels, **{channel.name: channel for channel in ports.channels}}
        always = always_counts(serving=settings.serving, kept=journal.outlives)
        judges = make_judges(config, gate, journal, surroundings(config, gate, redactor, channels, always))
        agents = Agents(config, AgentParts(providers, tools, judges, context))
        if extensions is not None:
            extensions.asking = lambda chat: agents(chat).step("", Inbound(chat, ""))
        shared = await _make_shared(settings, journal, policies)
        gateway = Gateway(agents, channels, shared, extensions.commands if extensions else None)
        given = (opened.pages, opened.endpoints, journal, desk.keys, tools, More(), telemetry)
        rest = (extensions, skills, context, shared.guests)
        runtime = Runtime(settings, ports, agents, gate, mounts, gateway, policies, channels, *given, *rest)
        early(runtime)
        yield await _begin(stack, runtime, desk)


async def _begin(stack: AsyncExitStack, runtime: Runtime, desk: Desk) -> Runtime:
    """Once every hook has been tried: messages are taken in, and the tools come that nobody waits for."""
    await runtime.mounts.tried()
    gateway, approvals = runtime.gateway, runtime.agent.approvals
    desk.open(gateway, approvals, runtime.guests)
    more = await _open_more(stack, runtime.settings, runtime.tools, gateway, approvals)
    if more.roster is not None:
        runtime.gate.others_absent(more.roster.connections.away)
        if runtime.ports.prompted:
            await more.roster.connections.tried()
    await stack.enter_async_context(_running(gateway, runtime.extensions))
    return replace(runtime, more=more)


def _open_redactor(stack: AsyncExitStack, settings: Settings) -> Redactor:
    """From here on the log says nothing that is secret either."""
    redactor = make_redactor(settings.config, tuple(settings.keys.values()))
    stack.enter_context(redacted_logs(redactor))
    return redactor


def _plans(settings: Settings, tools: Toolset, extensions: Extensions | None) -> Sequence[Plan]:
    """Of all hook processes, extensions among them."""
    hooks = plans(settings.config, settings.base, tools.rechecks.hook)
    return extensions.beside(hooks) if extensions else hooks


@asynccontextmanager
async def _running(gateway: Gateway, extensions: Extensions | None) -> AsyncGenerator[None]:
    """What goes on beside the conversations."""
    async with trio.open_nursery() as nursery:
        nursery.start_soon(gateway.run)
        nursery.start_soon(run_reaper)
        if extensions:
            extensions.tool_calls.gateway = gateway
            nursery.start_soon(extensions.surfaces.run, gateway)
        yield
        nursery.cancel_scope.cancel()


async def _open_more(
    stack: AsyncExitStack, settings: Settings, tools: Toolset, gateway: Gateway, approvals: Approvals
) -> More:
    """The tools that come later, and the rules that count from now on, those of made tools too; who alone may approve
    where channels say so."""
    more = await open_more_tools(stack, settings, tools, gateway.tell)
    limits = approvers(settings.config) if settings.serving else {}
    approvals.adopt(all_rules(settings.config, more.workshop), approvers=limits)
    if more.workshop is not None and not settings.looking:
        await more.workshop.warn()
    return more


async def _make_shared(settings: Settings, journal: Journal, policies: Policies) -> Shared:
    """What all conversations have in common; where nobody serves, none of them rests and nobody is let in."""
    config, slots = settings.config, Places(settings.config.gateway.max_turns)
    if not settings.serving:
        return Shared(journal, slots, policies, doors=policies.doors)
    guests = Guests(journal, people(config), listed(config))
    await guests.load()
    return Shared(journal, slots, policies, config.gateway.idle_s, policies.doors, guests, config.keyed)


async def _open_tools(
    stack: AsyncExitStack, settings: Settings, ports: Ports, gate: Gate, redactor: Redactor
) -> Toolset:
    """Those that are there from the start, and whoever listens hears of what comes. Raises ConfigError."""
    tools = await open_toolset(stack, settings, redactor, ports.journal)
    if changed := await tools.rechecks.start():
        raise ConfigError(changed)
    add_functions(tools.registry, settings.functions)
    tools.registry.listen(lambda change: gate.events.emit(_told(change)))
    return tools


async def refuse_what_does_not_guard(settings: Settings, inside: Sequence[Mount], registry: Registry) -> None:
    """Raises ConfigError; what its own policy covers, or may yet come, is a warning. Where nobody begins to work
    nothing has to be guarded."""
    if settings.looking:
        return
    from hookgate.assembly.preflight.faults import refuse_faults
    from hookgate.assembly.preflight.naming import start_faults

    names = registry.snapshot().tools
    adding = any(Stage.BEFORE_LLM in mount.rules.stages for mount in inside)
    loads = adding or bool(settings.extensions and settings.extensions.named)
    faults = partial(start_faults, settings.config, settings.base, names, loads=loads)
    for note in refuse_faults(await trio.to_thread.run_sync(faults)):
        log.warning("configured_but_missing", reason=note)


def add_functions(registry: Registry, functions: Sequence[Tool]) -> None:
    """Raises ConfigError for a name that is taken: a hook or a rule about it means the tool that it knows."""
    for tool in functions:
        if tool.spec.name in registry.snapshot().tools:
            raise ConfigError(f"functions: there is a tool {tool.spec.name} already: give this one another name")
        try:
            registry.register(tool, reserved=True)
        except BadSpec as error:
            raise ConfigError(f"functions: {error}") from None


async def make_extensions(settings: Settings, ports: Ports, tools: Toolset, gate: Gate) -> Extensions | None:
    if settings.extensions is None:
        return None
    names = [*(channel.name for channel in ports.channels), *(settings.config.channels if settings.serving else ())]
    redact, recheck = tools.around.redactor.text, tools.rechecks.folder
    joints = Joints(tools.registry, names, ports.surfaces, redact, gate.brought, recheck)
    found = settings.extensions.found or await looked(settings.config, settings.extensions)
    extensions = Extensions(settings.config, settings.extensions, joints, found)
    await extensions.look_through()
    for note in extensions.learning.take_notes() if settings.serving else ():
        log.warning("extension_lacks_variables", note=note)
    return extensions


def make_context_files(
    settings: Settings, tools: Toolset, session: Callable[[str], Session | None]
) -> ContextFiles | None:
    if not switched_on(settings.config.agent.context_files, settings.context_files):
        return None
    workspace, redact = settings.workspace, tools.around.redactor.text
    return ContextFiles(workspace, redact, session, tools.rechecks.file)


def own_guards(config: Config, tools: Toolset) -> tuple[Mount, ...]:
    """The guards that come with hookgate, where they are on."""
    from hookgate.assembly.hooks.guards import guard_mounts

    workspace = configuration.workspace_folder(config)
    return guard_mounts(config.guards, workspace, lambda name: tools.registry.snapshot().spec(name))


def _told(change: Change) -> RegistryChanged:
    return RegistryChanged(change.version, change.added, change.removed, change.shadowed)
