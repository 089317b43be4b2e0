"""All that can be asked of a running gateway, by name; the same for every way to ask."""

from __future__ import annotations

import os

from hookgate import config as configuration
from hookgate.assembly.app import Runtime
from hookgate.operations import hooks, sessions
from hookgate.operations.approvals import approval_methods
from hookgate.operations.mcp import mcp_methods
from hookgate.operations.methods import Method, Methods
from hookgate.operations.tool_methods import tool_methods
from hookgate.protocol.values import Json


def gateway_methods(runtime: Runtime) -> Methods:
    tools = runtime.tools

    async def hooks_list() -> Json:
        return await hooks.list_hooks(runtime)

    async def hooks_reload() -> Json:
        return await hooks.reload_hooks(runtime)

    async def hooks_restart(name: str) -> Json:
        return await hooks.restart_hook(runtime, name)

    async def sessions_list() -> Json:
        return await sessions.list_sessions(runtime)

    async def turn_stop(session: str) -> Json:
        return await sessions.stop_turn(runtime, session)

    async def about() -> Json:
        """Whose gateway it is, and what can be asked of it: a command that finds several asks this."""
        settings = runtime.settings
        file = (settings.file or settings.base / configuration.FILE_NAME).resolve()
        named: dict[str, Json] = {name: {"changes": it.changes} for name, it in sorted(methods.items())}
        workspace = configuration.workspace_key(settings.config)
        return {"config": str(file), "workspace": workspace, "pid": os.getpid(), "methods": named}

    methods = {
        **tool_methods(runtime, tools.catalog, tools.descriptions, lambda: runtime.agent.approvals.rules),
        **mcp_methods(runtime.more.roster),
        **approval_methods(runtime.agent.approvals),
        "gateway.about": Method(about, changes=False),
        "hooks.list": Method(hooks_list, changes=False),
        "hooks.reload": Method(hooks_reload, changes=True),
        "hooks.restart": Method(hooks_restart, changes=True),
        "sessions.list": Method(sessions_list, changes=False),
        "turn.stop": Method(turn_stop, changes=True),
    }
    return methods
