"""What a running gateway does when asked over its control socket, and the commands that ask."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import asdict
from pathlib import Path
from typing import cast

import structlog

from hookgate import config as configuration
from hookgate.assembly.app import Runtime, refuse_what_does_not_guard
from hookgate.assembly.guards import GUARD
from hookgate.assembly.hook_order import Link, guard_link, standing
from hookgate.assembly.hooks import plans
from hookgate.assembly.tools import all_rules
from hookgate.cli.hooks.inspect import say
from hookgate.cli.running import running_for
from hookgate.cli.tools.started import workspace_key
from hookgate.config import Config, ConfigError
from hookgate.control.client import call, socket_path
from hookgate.control.place import ControlUnavailable
from hookgate.control.serve import open_control
from hookgate.hooks.children.mounts import ReloadFailed
from hookgate.hooks.children.supervise import SupervisedHook
from hookgate.operations.mcp import mcp_methods
from hookgate.operations.methods import ControlError, Method, Methods
from hookgate.operations.tool_methods import tool_methods
from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import Json, JsonObject

log = structlog.get_logger("hookgate.control")


@asynccontextmanager
async def open_gateway_control(runtime: Runtime, config_file: Path | None, path: Path | None) -> AsyncGenerator[None]:
    """Serve the gateway's methods. Without an explicit path a socket that cannot be had is only logged.

    Raises ControlUnavailable for an explicit path.
    """
    section = runtime.setup.config.control
    explicit = path or (Path(section.path) if section.path else None)
    socket = explicit or socket_path(configuration.runtime_directory())
    served = _Methods(runtime, config_file).table()
    async with AsyncExitStack() as stack:
        try:
            await stack.enter_async_context(open_control(socket, served))
        except ControlUnavailable as error:
            if explicit:
                raise
            log.warning("no_control_socket", reason=str(error))
        yield


class _Methods:
    def __init__(self, runtime: Runtime, config_file: Path | None) -> None:
        self._runtime = runtime
        self._config_file = config_file

    def table(self) -> Methods:
        """All that can be asked, by name."""
        runtime, tools = self._runtime, self._runtime.tools
        return {
            **tool_methods(runtime, tools.catalog, tools.descriptions, lambda: runtime.agent.desk.rules),
            **mcp_methods(runtime.more.roster),
            "gateway.about": Method(self.about, changes=False),
            "hooks.list": Method(self.hooks_list, changes=False),
            "hooks.reload": Method(self.hooks_reload, changes=True),
            "hooks.restart": Method(self.hooks_restart, changes=True),
            "sessions.list": Method(self.sessions_list, changes=False),
            "turn.stop": Method(self.turn_stop, changes=True),
        }

    async def about(self) -> Json:
        """Whose gateway it is, and what can be asked of it: a command that finds several asks this."""
        setup = self._runtime.setup
        file = (self._config_file or setup.base / configuration.FILE_NAME).resolve()
        methods: dict[str, Json] = {name: {"changes": it.changes} for name, it in sorted(self.table().items())}
        whose: dict[str, Json] = {"config": str(file), "workspace": workspace_key(setup.config), "pid": os.getpid()}
        return {**whose, "methods": methods}

    async def hooks_list(self) -> Json:
        """The guards, then processes and extensions, each as it is asked."""
        guards = [m for m in self._runtime.gate.mounts if m.rules.inside and m.name.startswith(GUARD)]
        inside = [{**guard_link(mount).row(), **self._counted(mount.name)} for mount in guards]
        return [*inside, *(self._row(hook) for hook in self._runtime.mounts.hooks)]

    async def hooks_reload(self) -> Json:
        """Read the configuration again, exchange the hooks that differ, and the rules in the same moment: a call that
        either of them stops passes at no time. On any mistake nothing changes."""
        desk, extensions, changed = self._runtime.agent.desk, self._runtime.extensions, list[bool]()
        try:
            rechecks = self._runtime.tools.rechecks
            if refused := await rechecks.configuration():
                raise ConfigError(refused)
            config, file = configuration.load(self._config_file)
            runtime = self._runtime
            await refuse_what_does_not_guard(runtime.setup, (config, file.parent), runtime.agent.registry)
            rules, wanted = all_rules(config, runtime.more.workshop), plans(config, file.parent, rechecks.hook)
            with runtime.tools.keeping.adopting(config):
                changes = await runtime.mounts.reload(
                    lambda _running: extensions.beside(wanted) if extensions else wanted,
                    lambda: changed.append(desk.adopt(rules)),
                )
        except (ConfigError, ReloadFailed) as error:
            raise ControlError(f"nothing was changed: {error}") from None
        done: dict[str, Json] = {name: list(hooks) for name, hooks in asdict(changes).items()}
        return {**done, "approvals_changed": changed == [True], "needs_restart": self._waiting(config)}

    async def hooks_restart(self, name: str) -> Json:
        """A new process for one hook, whose program has changed; on any mistake the old one stays."""
        try:
            changes = await self._runtime.mounts.restart(name)
        except ReloadFailed as error:
            raise ControlError(f"nothing was changed: {error}") from None
        return {"restarted": list(changes.restarted)}

    def _waiting(self, config: Config) -> list[Json]:
        """Sections that differ from what runs and that only a new start takes over."""
        runs = self._runtime.setup.config
        sections = sorted(type(config).model_fields.keys() - {"hooks", "approvals"})
        return [name for name in sections if getattr(config, name) != getattr(runs, name)]

    async def sessions_list(self) -> Json:
        sessions = self._runtime.gateway.sessions.values()
        return [
            {"key": s.key, "busy": s.busy, "waiting": s.jobs.waiting, "messages": len(s.transcript)} for s in sessions
        ]

    async def turn_stop(self, session: str) -> Json:
        """True when a turn was running there and now ends."""
        if session not in self._runtime.gateway.sessions:
            raise ControlError(f"there is no session {session!r}")
        return self._runtime.gateway.stop(session)

    def _row(self, hook: SupervisedHook) -> dict[str, Json]:
        plan, declared = self._runtime.mounts.plan(hook.name), hook.declared.stages
        stages = plan.rules.stages if declared is None else plan.rules.stages & declared
        return {
            **Link(plan.name, plan.rules, hook.state, tuple(plan.spec.command)).row(),
            "stages": standing(stages),
            "reason": hook.reason,
            "pid": hook.pid,
            "restarts": hook.restarts,
            **self._counted(hook.name),
            "events_dropped": hook.events_dropped,
        }

    def _counted(self, name: str) -> dict[str, Json]:
        gate = self._runtime.gate
        stats = gate.stats[name]
        return {
            "calls": stats.calls,
            "failures": stats.failures,
            "failing": stats.failing,
            "p50_ms": stats.quantile_ms(0.50),
            "p99_ms": stats.quantile_ms(0.99),
            "audits_missed": gate.audits.missed[name],
        }


# --- the asking side ----------------------------------------------------------------------------------------


def call_gateway(method: str, params: str, config_file: Path | None, control: Path | None) -> int:
    """Raises ConfigError, NothingRunning and ControlFailed."""
    try:
        given: object = decode(params)
    except BadMessage as error:
        raise ConfigError(f"the params are not JSON: {error}") from None
    if not isinstance(given, dict):
        raise ConfigError('the params must be a JSON object, for example {"session": "cli:terminal"}')
    found = running_for(method, config_file, control)
    found.tell()
    say(encode(call(found.path, method, cast("JsonObject", given))).decode())
    return 0
