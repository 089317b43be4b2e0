"""MCP servers of the configuration: those of this machine are started once; others are asked only online."""

from __future__ import annotations

from hookgate.cli.doctor.finding import Examined, Finding, broken, ok
from hookgate.config import ConfigError
from hookgate.protocol.dataclasses import replace
from hookgate.sections import Config
from hookgate.tools.mcp.server import ServerListeners, ServerSpec, ServerStatus
from hookgate.tools.mcp.transport import sdk


async def servers(it: Examined) -> list[Finding]:
    """By name; those that cannot or need not be tried come first."""
    # Without the extra none can be asked, which has its own line.
    if not it.config.mcp.servers or not sdk.installed():
        return []
    findings, tried = list[Finding](), list[ServerSpec]()
    for name, server in it.config.mcp.servers.items():
        if not server.enabled:
            findings.append(ok(name, "switched off"))
        elif server.transport != "stdio" and not it.online:
            findings.append(ok(name, f"{server.url}: not asked (--online asks)"))
        else:
            try:
                tried.append(_spec(it, name))
            except ConfigError as error:
                findings.append(broken(name, str(error)))
    return [*findings, *(await _tried(tried))]


def _spec(it: Examined, name: str) -> ServerSpec:
    """By itself, so that the mistake of one says nothing of another."""
    from hookgate.assembly.tools.mcp import server_specs

    mcp = it.config.mcp.model_copy(update={"servers": {name: it.config.mcp.servers[name]}})
    alone: Config = it.config.model_copy(update={"mcp": mcp})
    return replace(server_specs(alone, it.base)[0], required=False)


async def _tried(specs: list[ServerSpec]) -> list[Finding]:
    from hookgate.tools.mcp.connections import Connections, open_connections
    from hookgate.tools.registry import Registry

    connections = Connections(Registry(), ServerListeners())
    async with open_connections(connections, specs):
        await connections.tried()
        return [_judged(status) for status in connections.statuses()]


def _judged(status: ServerStatus) -> Finding:
    if status.state != "up":
        return broken(status.name, status.error or f"it is {status.state}", f"mend [mcp.servers.{status.name}]")
    skipped = f", cannot be taken: {', '.join(status.skipped)}" if status.skipped else ""
    return ok(status.name, f"up with {len(status.tools)} tools{skipped}")
