"""Hooks of a running gateway: what they are and have done, exchanging them, starting one anew."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from pathlib import Path
from typing import Literal

from hookgate import config as configuration
from hookgate.approvals.people import People
from hookgate.approvals.rules import Rule
from hookgate.assembly.app import Runtime, refuse_what_does_not_guard
from hookgate.assembly.channels.policies import approvers
from hookgate.assembly.hooks.guards import GUARD
from hookgate.assembly.hooks.hook_order import Link, chain, guard_link
from hookgate.assembly.hooks.opening import listed, people, plans
from hookgate.assembly.tools.opening import all_rules
from hookgate.config import ConfigError
from hookgate.hooks.children.mounts import ReloadFailed
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.stages import Stage
from hookgate.sections import Config


@dataclass(frozen=True)
class HookStatus:
    """One hook, in the order of asking. `stages` and `observe` None: only its handshake tells. What a guard, or a
    hook that does not run, has none of is None or empty; times are of the last calls. `decisions`: how often it gave
    which answer. `gateway`: where it runs, if there are several; `here`: on the one that was asked."""

    name: str
    state: str
    priority: int | None = None
    mode: str | None = None
    stages: tuple[str, ...] | None = ()
    observe: tuple[str, ...] | None = ()
    command: tuple[str, ...] = ()
    reason: str = ""
    pid: int | None = None
    restarts: int | None = None
    calls: int | None = None
    failures: int | None = None
    failing: str = ""
    p50_ms: float | None = None
    p99_ms: float | None = None
    audits_missed: int | None = None
    events_dropped: int | None = None
    decisions: Mapping[str, int] = field(default_factory=dict[str, int])
    gateway: str = ""
    here: bool = True


@dataclass(frozen=True)
class ReloadedGateway:
    """What a reload came to at one of several gateways: `reloaded`; `failed`, and why; `gone`, it went away
    meanwhile; `not asked`, since another one has failed. `configuration`: the digest of what runs there now; empty:
    that is not known. `did`: in words, of one that has reloaded."""

    name: str
    outcome: Literal["reloaded", "failed", "gone", "not asked"]
    why: str = ""
    configuration: str = ""
    did: str = ""


@dataclass(frozen=True)
class Reloaded:
    """What a reload did, by hook name; `changed` hooks kept their process. `needs_restart`: sections that differ from
    what runs and that only a new start takes over; of a channel or `agent` only what a reload does not. `gateways`:
    of several that share a journal what it came to at each, in the order in which they were asked; the rest is of the
    one that was asked first."""

    added: tuple[str, ...]
    dropped: tuple[str, ...]
    restarted: tuple[str, ...]
    changed: tuple[str, ...]
    approvals_changed: bool
    needs_restart: tuple[str, ...]
    gateways: tuple[ReloadedGateway, ...] = ()


def told(done: Reloaded) -> str:
    """What it did at the gateway that it is of, for people."""
    changes = {"added": done.added, "gone": done.dropped, "restarted": done.restarted, "changed": done.changed}
    said = [f"{what}: {', '.join(names)}" for what, names in changes.items() if names]
    said += ["the approval rules differ"] if done.approvals_changed else []
    later = f" What changed in {', '.join(done.needs_restart)} counts only after a restart."
    return f"{'; '.join(said) or 'no hook and no rule differs'}.{later if done.needs_restart else ''}"


@dataclass(frozen=True)
class Restarted:
    restarted: tuple[str, ...]


async def list_hooks(runtime: Runtime) -> tuple[HookStatus, ...]:
    """How each hook is, and what it has done: guards, then processes and extensions, each as it is asked."""
    guards = [m for m in runtime.gate.mounts if m.rules.inside and m.name.startswith(GUARD)]
    inside = (_counted(runtime, _planned(guard_link(mount))) for mount in guards)
    return (*inside, *(_running(runtime, hook) for hook in runtime.mounts.hooks))


def planned_hooks(config: Config, base: Path) -> tuple[HookStatus, ...]:
    """What a configuration would start, and what it would not. Raises ConfigError."""
    laid = chain(config, base)
    out = (HookStatus(name, "out", reason=why) for name, why in laid.out.items())
    return (*map(_planned, laid.links), *out)


async def reload_hooks(runtime: Runtime) -> Reloaded:
    """Read the configuration again, exchange the hooks that differ, and the rules in the same moment: a call that
    either of them stops passes at no time. A gateway that serves channels takes over its agents, its routes and what
    each channel shows as well. On any mistake nothing changes."""
    extensions, changed = runtime.extensions, list[bool]()
    try:
        rechecks = runtime.tools.rechecks
        if refused := await rechecks.configuration():
            raise ConfigError(refused)
        config, file = configuration.load(runtime.settings.file)
        settings = replace(runtime.settings, config=config, base=file.parent)
        await refuse_what_does_not_guard(settings, runtime.ports.inside, runtime.agent.registry)
        # Tools work where they did until a new start, so that is what hooks go on being told.
        same_workspace = config.model_copy(update={"agent": runtime.settings.config.agent})
        rules, wanted = all_rules(config, runtime.more.workshop), plans(same_workspace, file.parent, rechecks.hook)
        publish = _publishing(runtime, config, rules)
        with runtime.tools.keeping.adopting(config):
            changes = await runtime.mounts.reload(
                lambda _running: extensions.beside(wanted) if extensions else wanted,
                lambda: changed.append(publish()),
            )
    except (ConfigError, ReloadFailed) as error:
        raise OperationRefused(f"nothing was changed: {error}") from None
    done = (changes.added, changes.dropped, changes.restarted, changes.changed)
    return Reloaded(*done, changed == [True], _needing_restart(runtime, config))


def _publishing(runtime: Runtime, config: Config, rules: tuple[Rule, ...]) -> Callable[[], bool]:
    """What takes all but the hooks over, in one moment; whether the rules differ. Raises ConfigError."""
    made = runtime.agents.made(config) if runtime.settings.serving else None

    def publish() -> bool:
        known = (
            runtime.guests.adopt(people(config), listed(config))
            if runtime.guests is not None
            else People(people(config))
        )
        if made is not None:
            runtime.agents.take(config, made)
            runtime.policies.adopt(config, known)
            runtime.gateway.resting.outdate()
        limits = approvers(config) if runtime.settings.serving else {}
        return runtime.agent.approvals.adopt(rules, known, limits)

    return publish


async def restart_hook(runtime: Runtime, name: str) -> Restarted:
    """A new process for one hook, whose program has changed; on any mistake the old one stays."""
    try:
        changes = await runtime.mounts.restart(name)
    except ReloadFailed as error:
        raise OperationRefused(f"nothing was changed: {error}") from None
    return Restarted(changes.restarted)


def _needing_restart(runtime: Runtime, config: Config) -> tuple[str, ...]:
    runs, wanted = (_fixed(it, runtime.settings.serving) for it in (runtime.settings.config, config))
    return tuple(sorted(name for name in runs.keys() | wanted.keys() if runs.get(name) != wanted.get(name)))


OF_AGENT = {"name", "workspace", "context_files"}
LIVE_OF_CHANNEL = {
    *("agent", "allow", "pairing", "approvers", "group", "rate", "busy", "show_denials", "show_errors"),
    *("text_from", "chat_from", "events", "agents"),
}
"""What a reload takes over; the rest only a new start."""


def _fixed(config: Config, serving: bool) -> dict[str, object]:
    """What a reload leaves as it is, by the section's name."""
    left = type(config).model_fields.keys() - {"hooks", "approvals", "people"}
    if not serving:
        return {name: getattr(config, name) for name in left}
    channels = {f"channels.{name}": it.model_dump(exclude=LIVE_OF_CHANNEL) for name, it in config.channels.items()}
    sections = {name: getattr(config, name) for name in left - {"agents", "routes", "channels"}}
    return {**sections, **channels, "agent": config.agent.model_dump(include=OF_AGENT)}


def _planned(link: Link) -> HookStatus:
    rules, known = link.rules, link.rank is None
    stages, observe = (_standing(rules.stages), rules.observe.patterns) if known else (None, None)
    return HookStatus(link.name, link.state, rules.priority, rules.mode, stages, observe, link.command)


def _running(runtime: Runtime, hook: SupervisedHook) -> HookStatus:
    plan, declared = runtime.mounts.plan(hook.name), hook.declared.stages
    stages = plan.rules.stages if declared is None else plan.rules.stages & declared
    row = replace(
        _planned(Link(plan.name, plan.rules, hook.state, tuple(plan.spec.command))),
        stages=_standing(stages),
        reason=hook.reason,
        pid=hook.pid,
        restarts=hook.restarts,
        events_dropped=hook.events_dropped,
    )
    return _counted(runtime, row)


def _counted(runtime: Runtime, row: HookStatus) -> HookStatus:
    gate, stats = runtime.gate, runtime.gate.stats[row.name]
    return replace(
        row,
        calls=stats.calls,
        failures=stats.failures,
        failing=stats.failing,
        decisions=dict(stats.decisions),
        p50_ms=stats.quantile_ms(0.50),
        p99_ms=stats.quantile_ms(0.99),
        audits_missed=gate.audits.missed[row.name],
    )


def _standing(stages: frozenset[Stage]) -> tuple[str, ...]:
    """In the order of a turn."""
    return tuple(stage for stage in Stage if stage in stages)
