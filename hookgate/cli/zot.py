"""The extensions of one running hookgate: found, planned as hooks, joined to registry, commands and surfaces.

Owns no process: the mounts do, as for every hook.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

import structlog

from hookgate import __version__
from hookgate import config as configuration
from hookgate.cli.plans import matcher
from hookgate.cli.zot_calls import ToolCalls
from hookgate.cli.zot_tools import OfferedTools, tool_matcher
from hookgate.config import ConfigError
from hookgate.extensions.discovery import Candidate, Found, Judge, Places, Problem, everybody, find
from hookgate.extensions.logs import ExtensionLog, log_file
from hookgate.extensions.trust import Trust
from hookgate.hooks.mounts import Mounts, Plan
from hookgate.hooks.rules import Mount
from hookgate.hooks.zot.roster import Roster
from hookgate.loop.commands import RESERVED, Commands
from hookgate.loop.surface import Surfaces
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.match import Matcher
from hookgate.protocol.values import Chat, Inbound, Step
from hookgate.protocol.zot.names import EXTENSION
from hookgate.protocol.zot.surface import Surface
from hookgate.sections import Config
from hookgate.sections.section import MatchSection
from hookgate.sections.zot import ZotExtension
from hookgate.tools.registry import Registry

if TYPE_CHECKING:
    from hookgate.hooks.zot.spec import ExtensionSpec

log = structlog.get_logger("hookgate.extensions")


@dataclass(frozen=True)
class ExtensionFlags:
    """What the command line says. `named`: folders of `--ext`; `search` False: `--no-ext`; `discover`: whether the
    project's are loaded where the configuration does not say; `trusting`: all of them, whoever wrote them. `trust`:
    what somebody has agreed to, in this run too."""

    named: tuple[Path, ...] = ()
    search: bool = True
    discover: bool = False
    trusting: bool = False
    trust: Trust | None = None


@dataclass(frozen=True)
class Joints:
    """What extensions are joined to. `surfaces`: by channel, those that show notes and panels themselves."""

    registry: Registry
    channels: Sequence[str]
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    redact: Callable[[str], str] = lambda text: text


class Extensions:
    """`commands` for the gateway, `surfaces` to be run beside it, `inside` and `plans` for the mounts."""

    def __init__(self, config: Config, flags: ExtensionFlags, joints: Joints) -> None:
        self._config = config
        self._flags = flags
        self._tools = OfferedTools(joints.registry)
        self._generation = 0
        self._told: set[tuple[str, str]] = set()
        self._matchers: dict[str, Matcher] = {}
        self.surfaces = Surfaces(joints.channels, joints.surfaces, joints.redact)
        self.tool_calls = ToolCalls(self._covers)
        self.roster = Roster(self.surfaces, self._offer, self.tool_calls.run)
        self.commands = Commands(self.roster, self.surfaces, self._covers_chat)
        matching = any(it.match != MatchSection() for it in config.zot.extensions.values())
        self.inside: tuple[Mount, ...] = (tool_matcher(self._covers),) if matching else ()
        self.found = self._find()
        self.plans = self._planned()

    def beside(self, plans: Sequence[Plan]) -> tuple[Plan, ...]:
        """The configured hooks' plans with the extensions': what a reload of the hooks must be given."""
        return (*plans, *self.plans)

    def problems(self, mounts: Mounts) -> tuple[str, ...]:
        """A line for each extension that could not be loaded."""
        return (*unloaded(self.found), *(it.text for it in self._down(mounts)))

    def broken(self, mounts: Mounts) -> tuple[Problem, ...]:
        """What is wrong with those that were named."""
        named = {Path(os.path.abspath(path)) for path in self._flags.named}
        return tuple(it for it in (*self.found.problems, *self._down(mounts)) if it.directory in named)

    def _down(self, mounts: Mounts) -> tuple[Problem, ...]:
        directories = {plan.name: Path(plan.spec.directory) for plan in self.plans}
        down = [hook for hook in mounts.hooks if hook.name in directories and not hook.pid]
        return tuple(Problem(directories[hook.name], hook.reason or hook.state) for hook in down)

    def loaded(self, mounts: Mounts) -> tuple[str, ...]:
        """The names of those that are up, in load order."""
        up = {hook.name for hook in mounts.hooks if hook.pid}
        return tuple(plan.spec.name for plan in self.plans if plan.name in up)

    async def reload(self, mounts: Mounts) -> None:
        """Look again, stop all extensions, start what is there now; returns when each is up or has failed.

        Raises nothing that an extension does; what could not be loaded is in `problems`.
        """
        self._generation += 1
        self._told.clear()
        self.found = self._find()
        before = {plan.name: plan.spec.name for plan in self.plans}
        others = [mounts.plan(hook.name) for hook in mounts.hooks if hook.name not in before]
        self.plans = self._planned()
        await mounts.reload(self.beside(others))
        for name in before.keys() - {plan.name for plan in self.plans}:
            # Its process may still be ending; nobody should call it any more.
            self._tools.offer(before[name], 0, ())

    # --- what is there ---

    def _find(self) -> Found:
        found = found_by(self._config, self._flags)
        for it in found.shadowed:
            log.info("extension_shadowed", extension=it.entry.name, directory=str(it.entry.directory))
        return found

    def _planned(self) -> tuple[Plan, ...]:
        sections = self._config.zot.extensions
        started = [(it, sections.get(it.name, ZotExtension())) for it in self.found.candidates]
        self._matchers = {it.name: matcher(section.match) for it, section in started}
        return tuple(self._plan(it, section) for it, section in started if section.enabled)

    def _plan(self, candidate: Candidate, section: ZotExtension) -> Plan:
        from hookgate.hooks.zot.spec import STAGES, extension_plan

        spec = self._spec(candidate, section)
        plan = extension_plan(spec, priority=self._config.zot.priority, match=self._matchers[candidate.name])
        if section.timeout_ms is None:
            return plan
        return replace(plan, rules=replace(plan.rules, timeout_s=dict.fromkeys(STAGES, section.timeout_ms / 1000)))

    def _spec(self, candidate: Candidate, section: ZotExtension) -> ExtensionSpec:
        from hookgate.hooks.zot.spec import ExtensionSpec, extension_environment

        config, zot = self._config, self._config.zot
        home = configuration.zot_home(config)
        provider, _, model = config.agent.model.partition("/")
        return ExtensionSpec(
            name=candidate.name,
            command=candidate.command,
            directory=str(candidate.directory),
            environment=extension_environment(
                self._base_environment(candidate), str(home), configuration.extension_variables(section)
            ),
            project_dir=str(configuration.workspace_folder(config)),
            provider=provider,
            model=model,
            zot_version=zot.version or __version__,
            roster=self.roster,
            journal=ExtensionLog(log_file(home, candidate.name)),
            fail_closed=zot.fail_closed if section.fail_closed is None else section.fail_closed,
            rank=candidate.index,
            hello_timeout_s=zot.hello_timeout_ms / 1000,
            generation=self._generation,
        )

    @staticmethod
    def _base_environment(candidate: Candidate) -> dict[str, str]:
        """Python would leave its bytecode in the folder, and so change what somebody has agreed to."""
        quiet = {"PYTHONDONTWRITEBYTECODE": "1"} if candidate.scope == "project" else {}
        return {**configuration.base_environment(), **quiet}

    # --- who has what ---

    def _covers(self, extension: str, step: Step) -> bool:
        """One that a reload has dropped has no part in anything, though it may still be ending."""
        known = self._matchers.get(extension)
        return known is not None and known.matches(step)

    def _covers_chat(self, extension: str, chat: Chat) -> bool:
        agent = self._config.agent
        return self._covers(extension, Step(agent.name, "", Inbound(chat, ""), model=agent.model))

    def _offer(self, extension: str, rank: int, tools: Sequence[Tool]) -> None:
        self._tools.offer(extension, rank, tools)
        self._tell_losers()

    def _tell_losers(self) -> None:
        """Once each: the commands that nobody can invoke, since another one has the name."""
        taken = dict.fromkeys(RESERVED, "hookgate")
        for it in self.roster.extensions:
            for name in (command.name.lower() for command in it.commands):
                holder = taken.setdefault(name, it.extension)
                if holder != it.extension and (it.extension, name) not in self._told:
                    self._told.add((it.extension, name))
                    log.warning("extension_command_refused", extension=it.extension, command=name, holder=holder)


def found_by(config: Config, flags: ExtensionFlags) -> Found:
    """What is to be loaded, as it lies there now. Raises ConfigError."""
    zot = config.zot
    if not zot.enabled:
        if flags.named:
            raise ConfigError("zot.enabled is false, so --ext loads nothing")
        return Found()
    project = zot.discover if zot.discover is not None else flags.discover
    here = Path.cwd() if project and zot.trust != "never" else None
    places = Places(here, configuration.extensions_folder(), configuration.zot_home(config))
    return find(flags.named, places if flags.search else None, judge_of(config, flags))


def judge_of(config: Config, flags: ExtensionFlags) -> Judge:
    if flags.trusting or config.zot.trust == "always":
        return everybody
    return (flags.trust or Trust(configuration.trust_folder())).standing


def unloaded(found: Found) -> tuple[str, ...]:
    """A line for each that is not even tried."""
    return (*(it.text for it in found.problems), *(it.text for it in found.strangers))


def is_extension(hook: str) -> bool:
    return hook.startswith(EXTENSION)
