"""Hooks of a running gateway: what they are and have done, exchanging them, starting one anew."""

from __future__ import annotations

from dataclasses import asdict, replace

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, refuse_what_does_not_guard
from hookgate.assembly.guards import GUARD
from hookgate.assembly.hook_order import Link, guard_link, standing
from hookgate.assembly.hooks import plans
from hookgate.assembly.tools import all_rules
from hookgate.config import Config, ConfigError
from hookgate.hooks.children.mounts import ReloadFailed
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.operations.methods import ControlError
from hookgate.protocol.values import Json


async def list_hooks(runtime: Runtime) -> Json:
    """The guards, then processes and extensions, each as it is asked."""
    guards = [m for m in runtime.gate.mounts if m.rules.inside and m.name.startswith(GUARD)]
    inside = [{**guard_link(mount).row(), **_counted(runtime, mount.name)} for mount in guards]
    return [*inside, *(_row(runtime, hook) for hook in runtime.mounts.hooks)]


async def reload_hooks(runtime: Runtime) -> Json:
    """Read the configuration again, exchange the hooks that differ, and the rules in the same moment: a call that
    either of them stops passes at no time. On any mistake nothing changes."""
    approvals, extensions, changed = runtime.agent.approvals, runtime.extensions, list[bool]()
    try:
        rechecks = runtime.tools.rechecks
        if refused := await rechecks.configuration():
            raise ConfigError(refused)
        config, file = configuration.load(runtime.settings.file)
        settings = replace(runtime.settings, config=config, base=file.parent)
        await refuse_what_does_not_guard(settings, runtime.ports.inside, runtime.agent.registry)
        rules, wanted = all_rules(config, runtime.more.workshop), plans(config, file.parent, rechecks.hook)
        with runtime.tools.keeping.adopting(config):
            changes = await runtime.mounts.reload(
                lambda _running: extensions.beside(wanted) if extensions else wanted,
                lambda: changed.append(approvals.adopt(rules)),
            )
    except (ConfigError, ReloadFailed) as error:
        raise ControlError(f"nothing was changed: {error}") from None
    done: dict[str, Json] = {name: list(hooks) for name, hooks in asdict(changes).items()}
    return {**done, "approvals_changed": changed == [True], "needs_restart": _needing_restart(runtime, config)}


async def restart_hook(runtime: Runtime, name: str) -> Json:
    """A new process for one hook, whose program has changed; on any mistake the old one stays."""
    try:
        changes = await runtime.mounts.restart(name)
    except ReloadFailed as error:
        raise ControlError(f"nothing was changed: {error}") from None
    return {"restarted": list(changes.restarted)}


def _needing_restart(runtime: Runtime, config: Config) -> list[Json]:
    """Sections that differ from what runs and that only a new start takes over."""
    runs = runtime.settings.config
    sections = sorted(type(config).model_fields.keys() - {"hooks", "approvals"})
    return [name for name in sections if getattr(config, name) != getattr(runs, name)]


def _row(runtime: Runtime, hook: SupervisedHook) -> dict[str, Json]:
    plan, declared = runtime.mounts.plan(hook.name), hook.declared.stages
    stages = plan.rules.stages if declared is None else plan.rules.stages & declared
    return {
        **Link(plan.name, plan.rules, hook.state, tuple(plan.spec.command)).row(),
        "stages": standing(stages),
        "reason": hook.reason,
        "pid": hook.pid,
        "restarts": hook.restarts,
        **_counted(runtime, hook.name),
        "events_dropped": hook.events_dropped,
    }


def _counted(runtime: Runtime, name: str) -> dict[str, Json]:
    gate = runtime.gate
    stats = gate.stats[name]
    return {
        "calls": stats.calls,
        "failures": stats.failures,
        "failing": stats.failing,
        "p50_ms": stats.quantile_ms(0.50),
        "p99_ms": stats.quantile_ms(0.99),
        "audits_missed": gate.audits.missed[name],
    }
