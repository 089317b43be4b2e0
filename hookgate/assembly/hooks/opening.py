"""The configuration's hooks, rules and restarts as the values that the gate works with."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from hookgate.approvals.people import Person, read_id
from hookgate.approvals.rules import Rule, usual_name
from hookgate.config import hook_environment, media_folder, workspace_told
from hookgate.hooks.children.mounts import Plan
from hookgate.hooks.children.supervise import Restarts
from hookgate.hooks.rules import Rules
from hookgate.protocol.approval import Terms
from hookgate.protocol.hook.match import CRITERIA, Globs, Matcher, Observed
from hookgate.protocol.hook.stages import Stage
from hookgate.sections import Config
from hookgate.sections.hooks import HookDefaults, HookSection
from hookgate.sections.section import MatchSection

if TYPE_CHECKING:
    from hookgate.hooks.children.process import ProcessSpec

    Rechecked = Callable[[ProcessSpec], ProcessSpec]


def plans(config: Config, base: Path, rechecked: Rechecked | None = None) -> tuple[Plan, ...]:
    """One per hook process that is not off; relative directories count from `base`. `rechecked` adds what is asked
    before each start of one."""
    defaults = config.hooks.defaults
    made = (
        (process_spec(name, section, config, base), section)
        for name, section in config.hooks.processes.items()
        if section.mode != "off"
    )
    asked = ((spec if rechecked is None else rechecked(spec), section) for spec, section in made)
    return tuple(
        Plan(
            spec,
            rules(section, defaults),
            section.required,
            alone=section.singleton,
            singleton=section.singleton,
        )
        for spec, section in asked
    )


def process_spec(name: str, section: HookSection, config: Config, base: Path) -> ProcessSpec:
    from hookgate.hooks.children.process import ProcessSpec

    defaults = config.hooks.defaults
    return ProcessSpec(
        name=name,
        command=section.command,
        directory=str(base / section.dir),
        environment=hook_environment(section),
        stages=frozenset(section.intercept),
        observes=bool(section.observe),
        event_method=section.event_method,
        max_in_flight=section.max_in_flight,
        max_message_bytes=defaults.max_message_bytes,
        hello_timeout_s=defaults.hello_timeout_ms / 1000,
        flush_s=defaults.observer_timeout_ms / 1000 if section.observe else 0.0,
        media_dir=str(media_folder(config)),
        workspace=workspace_told(config),
    )


def rules(section: HookSection, defaults: HookDefaults) -> Rules:
    return Rules(
        stages=frozenset(section.intercept),
        observe=Observed(section.observe),
        match=matcher(section.match),
        priority=section.priority,
        mode=section.mode,
        on_failure={stage: section.policy(stage) for stage in Stage},
        timeout_s={stage: timeout_s(section, defaults, stage) for stage in Stage},
        may_modify=None if section.may_modify is None else frozenset(section.may_modify),
        may_respond_unapproved=section.may_respond_unapproved,
    )


def timeout_s(section: HookSection, defaults: HookDefaults, stage: Stage) -> float:
    approves = stage is Stage.APPROVE_TOOL
    default = defaults.approver_timeout_ms if approves else defaults.interceptor_timeout_ms
    match section.timeout_ms:
        case None:
            return default / 1000
        case int(every_stage):
            return every_stage / 1000
        case by_stage:
            return by_stage.get(stage, default) / 1000


def matcher(section: MatchSection) -> Matcher:
    given = {name: getattr(section, name) for name in CRITERIA}
    return Matcher({name: Globs(patterns) for name, patterns in given.items() if patterns})


def approval_rules(config: Config) -> tuple[Rule, ...]:
    """Those without a name are called by what they are about."""
    made = ((section, matcher(section)) for section in config.approvals)
    return tuple(
        Rule(
            section.name or usual_name(match),
            match,
            section.ttl_s,
            section.approvers,
            origins=Globs(section.origins),
            terms=Terms(
                section.required, section.may_self_approve, section.ask_in, section.on_expiry, section.grants
            ),
        )
        for section, match in made
    )


def people(config: Config) -> tuple[Person, ...]:
    """Whom the configuration knows, under which ids."""
    return tuple(Person(name, tuple(map(read_id, it.ids)), it.roles) for name, it in config.people.items())


def listed(config: Config) -> frozenset[str]:
    """All that stands in a list of those who are heard, or who approve: names, ids, roles."""
    sections = config.channels.values()
    lists = [it.approvers for it in (*sections, *config.approvals)] + [it.allow for it in sections]
    return frozenset(name for it in lists for name in it)


def restarts(defaults: HookDefaults) -> Restarts:
    return Restarts(
        first_delay_s=defaults.restart_first_ms / 1000,
        longest_delay_s=defaults.restart_longest_ms / 1000,
        crash_limit=defaults.quarantine_after,
        crash_window_s=defaults.quarantine_window_ms / 1000,
        probe_s=defaults.quarantine_probe_ms / 1000,
    )
