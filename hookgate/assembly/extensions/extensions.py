"""The extensions of one running hookgate: found, planned as hooks, joined to registry, commands and surfaces.

Owns no process: the mounts do, as for every hook.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

import structlog
import trio

from hookgate import __version__
from hookgate import config as configuration
from hookgate.assembly.extensions.calls import ToolCalls
from hookgate.assembly.extensions.learning import Learning
from hookgate.assembly.extensions.looking import Agreement, found_by, judge_of, looked, unloaded
from hookgate.assembly.extensions.tools import OfferedTools, tool_matcher
from hookgate.assembly.hooks.opening import matcher
from hookgate.assembly.settings import ExtensionFlags
from hookgate.channels.printable import one_line
from hookgate.extensions.discovery import Candidate, FoundExtensions, Problem
from hookgate.extensions.logs import ExtensionLog, log_file
from hookgate.extensions.memory import Memory
from hookgate.hooks.children.mounts import Mounts, Plan
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.hooks.rules import Mount
from hookgate.hooks.zot.roster import Roster
from hookgate.loop.commands.table import RESERVED
from hookgate.loop.extensions.commands import ExtensionCommands
from hookgate.loop.extensions.surface import Surfaces
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.match import Matcher
from hookgate.protocol.hook.stages import Stage
from hookgate.protocol.interfaces import Tool
from hookgate.protocol.values import Step
from hookgate.protocol.zot.names import EXTENSION
from hookgate.protocol.zot.surface import Surface
from hookgate.sections import Config
from hookgate.sections.section import MatchSection
from hookgate.sections.zot import ZotExtension
from hookgate.tools.registry import Registry

if TYPE_CHECKING:
    from hookgate.hooks.zot.spec import ExtensionSpec
    from hookgate.processes.child import Recheck

log = structlog.get_logger("hookgate.extensions")


@dataclass(frozen=True)
class Joints:
    """What extensions are joined to. `surfaces`: by channel, those that show notes and panels themselves."""

    registry: Registry
    channels: Sequence[str]
    surfaces: Mapping[str, Surface] = field(default_factory=dict[str, Surface])
    redact: Callable[[str], str] = lambda text: text
    brought: Callable[[str, Iterable[str]], None] = lambda _hook, _tools: None
    recheck: Callable[[Path], Recheck] | None = None


class Extensions:
    """`commands` for the gateway, `surfaces` to be run beside it, `inside` and `plans` for the mounts."""

    def __init__(
        self, config: Config, flags: ExtensionFlags, joints: Joints, found: FoundExtensions | None = None
    ) -> None:
        self._config = config
        self._flags = flags
        self._tools, self._recheck = OfferedTools(joints.registry, joints.brought), joints.recheck
        self.learning = Learning(Memory(configuration.learnt_folder()), lambda name: self._section(name).env_pass)
        self._generation = 0
        self._told: set[tuple[str, str]] = set()
        self._matchers: dict[str, Matcher] = {}
        self.surfaces = Surfaces(joints.channels, joints.surfaces, joints.redact)
        self.tool_calls = ToolCalls(self._covers)
        self.roster = Roster(self.surfaces, self._offer, self.tool_calls.run)
        self.asking: Callable[[Chat], Step] = self._unknown
        """As whom somebody asks in a chat."""
        self.commands = ExtensionCommands(self.roster, self.surfaces, self._covers_chat)
        matching = any(it.match != MatchSection() for it in config.zot.extensions.values())
        self.inside: tuple[Mount, ...] = (tool_matcher(self._covers),) if matching else ()
        self.found = _logged(found or found_by(config, flags))
        self.plans = self._planned()

    def beside(self, plans: Sequence[Plan]) -> tuple[Plan, ...]:
        """The configured hooks' plans with the extensions': what a reload of the hooks must be given."""
        return (*plans, *self.plans)

    def problems(self, mounts: Mounts) -> tuple[str, ...]:
        """A line for each extension that could not be loaded."""
        return (*unloaded(self.found), *(one_line(it.text) + self._more(it) for it in self._down(mounts)))

    def _more(self, problem: Problem) -> str:
        """Where there is more to read of one that was started."""
        spec = next(plan.spec for plan in self.plans if Path(plan.spec.directory) == problem.directory)
        written = log_file(configuration.zot_home(self._config), spec.name)
        there = written.exists() and written.stat().st_size
        return f"  (hookgate ext logs {shlex.quote(spec.name)})" if there else ""

    def broken(self, mounts: Mounts) -> tuple[Problem, ...]:
        """What is wrong with those that were named; one that only takes its time is not broken."""
        named = {Path(os.path.abspath(path)) for path in self._flags.named}
        late = {Path(hook.spec.directory) for hook in mounts.hooks if hook.state == "starting"}
        return tuple(it for it in (*self.found.problems, *self._down(mounts)) if it.directory in named - late)

    def _down(self, mounts: Mounts) -> tuple[Problem, ...]:
        directories = {plan.name: Path(plan.spec.directory) for plan in self.plans}
        down = [hook for hook in mounts.hooks if hook.name in directories and not hook.pid]
        return tuple(Problem(directories[hook.name], f"{hook.reason or hook.state}{_closed(hook)}") for hook in down)

    def loaded(self, mounts: Mounts) -> tuple[str, ...]:
        """The names of those that are up, in load order."""
        return self._named({hook.name for hook in mounts.hooks if hook.pid})

    def starting(self, mounts: Mounts) -> tuple[str, ...]:
        """The names of those that take their time and may yet come, in load order."""
        return self._named({hook.name for hook in mounts.hooks if hook.state == "starting"})

    def _named(self, hooks: Container[str]) -> tuple[str, ...]:
        return tuple(plan.spec.name for plan in self.plans if plan.name in hooks)

    async def reload(self, mounts: Mounts, found: FoundExtensions | None = None) -> None:
        """Look again, stop all extensions, start what is there now; returns when each is up or has failed.

        `found`: what a look has found just now. Raises nothing that an extension does; what could not be loaded is in
        `problems`.
        """
        found = found or await looked(self._config, self._flags)
        self._generation += 1
        self._told.clear()
        self.found = _logged(found)
        before = {plan.name: plan.spec.name for plan in self.plans}
        self.plans = self._planned()
        await self.look_through()
        await mounts.reload(lambda running: self.beside([plan for plan in running if plan.name not in before]))
        for name in before.keys() - {plan.name for plan in self.plans}:
            # Its process may still be ending; nobody should call it any more.
            self._tools.offer(before[name], 0, ())

    async def look_through(self, specs: Sequence[ExtensionSpec] | None = None) -> None:
        """The code of those that are to be started, for what `learning` has to say of it; None: all of the plans."""
        if specs is None:
            specs = [cast("ExtensionSpec", plan.spec) for plan in self.plans]
        if specs:
            await trio.to_thread.run_sync(self.learning.look, specs, abandon_on_cancel=True)

    # --- what is there ---

    def _planned(self) -> tuple[Plan, ...]:
        started = [(it, self._section(it.name)) for it in self.found.candidates if it.command]
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
            recheck=self._rechecked(candidate),
            fail_closed=zot.fail_closed if section.fail_closed is None else section.fail_closed,
            rank=candidate.index,
            hello_timeout_s=zot.hello_timeout_ms / 1000,
            start_timeout_s=zot.start_timeout_ms / 1000,
            guarded=partial(self._guarded, candidate, section),
            learn=partial(self.learning.learn, candidate.directory),
            generation=self._generation,
        )

    def _guarded(self, candidate: Candidate, section: ZotExtension) -> frozenset[Stage]:
        """Whoever has said that it may fail open has said so of its start, too."""
        if section.fail_closed is False:
            return frozenset()
        return self.learning.guarded(candidate.directory, candidate.manifest.intercept)

    def _section(self, name: str) -> ZotExtension:
        return self._config.zot.extensions.get(name, ZotExtension())

    def _rechecked(self, candidate: Candidate) -> Recheck | None:
        """That of a project's extension is a person's yes to what is in its folder, which says more."""
        if candidate.standing.sha256:
            return Agreement(candidate, judge_of(self._config, self._flags))
        return None if self._recheck is None else self._recheck(candidate.directory)

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
        return self._covers(extension, self.asking(chat))

    def _unknown(self, chat: Chat) -> Step:
        """Before there is anybody who knows more."""
        agent = self._config.agent
        return Step(agent.name, "", Inbound(chat, ""), model=agent.model)

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


def _closed(hook: SupervisedHook) -> str:
    """What a person can do about a guard that is not there yet, and lets nothing pass."""
    if hook.been_up or not any(map(hook.spec.guards, Stage)):
        return ""
    opens = f"[zot.extensions.{hook.spec.name}] fail_closed = false"
    return f". It guards, so until it is up nothing passes it; {opens}: all does"


def _logged(found: FoundExtensions) -> FoundExtensions:
    for it in found.shadowed:
        log.info("extension_shadowed", extension=it.entry.name, directory=str(it.entry.directory))
    return found


def is_extension(hook: str) -> bool:
    return hook.startswith(EXTENSION)
