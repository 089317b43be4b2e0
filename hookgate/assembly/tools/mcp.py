"""MCP servers of a configuration and of the catalog, opened: the only place where they meet config and approvals."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from hookgate import config as configuration
from hookgate.approvals.rules import Rule
from hookgate.assembly.keeping.rechecks import Rechecks
from hookgate.config import ConfigError
from hookgate.protocol.catalog import Catalog
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.sections import Config
from hookgate.sections.tools import McpSection
from hookgate.tools.mcp.connect_request import approval_text
from hookgate.tools.mcp.connections import Connections, open_connections
from hookgate.tools.mcp.manage import APPROVED, McpConnect, McpDisconnect, McpList
from hookgate.tools.mcp.roster import Roster, ServerSurroundings
from hookgate.tools.mcp.server import ServerListeners, ServerSpec
from hookgate.tools.mcp.transport import sdk
from hookgate.tools.registry import Registry


@dataclass(frozen=True)
class McpParts:
    """What MCP connections need of the rest. `catalog` None: nothing outlives the run."""

    registry: Registry
    workspace: Path
    told: ServerListeners
    catalog: Catalog | None = None
    rechecks: Rechecks | None = None


@asynccontextmanager
async def open_mcp(config: Config, base: Path, parts: McpParts) -> AsyncGenerator[Roster]:
    """The configured servers, those of the catalog, and the model's own tools for them where they are allowed.

    Does not wait for a server that is not `required`. Raises ConfigError, RequiredServerFailed.
    """
    named, rechecks = server_specs(config, base), parts.rechecks
    specs = named if rechecks is None else tuple(map(rechecks.server, named))
    connections = Connections(parts.registry, parts.told)
    roster = make_roster(config, connections, parts, [spec.name for spec in specs])
    async with open_connections(connections, specs):
        roster.restore()
        if config.mcp.model_may_connect:
            for tool in (McpConnect(roster), McpDisconnect(roster), McpList(roster)):
                parts.registry.register(tool, reserved=True)
        yield roster


def make_roster(config: Config, connections: Connections, parts: McpParts, configured: Iterable[str]) -> Roster:
    """`configured`: the names of the operator's servers that are enabled."""
    secret = partial(_secret, config.guards.redaction.secret_env)
    place = ServerSurroundings(parts.workspace, configuration.base_environment(), secret)
    return Roster(connections, parts.catalog, place, frozenset(configured))


def server_specs(config: Config, base: Path) -> tuple[ServerSpec, ...]:
    """One per enabled server; relative directories count from `base`. Raises ConfigError."""
    sections = {name: section for name, section in config.mcp.servers.items() if section.enabled}
    if (sections or config.mcp.model_may_connect) and not sdk.installed():
        place = f"mcp.servers.{next(iter(sections))}" if sections else "mcp.model_may_connect"
        raise ConfigError(f"{place}: {sdk.MISSING}")
    return tuple(_spec(name, section, base) for name, section in sections.items())


def _spec(name: str, section: McpSection, base: Path) -> ServerSpec:
    return ServerSpec(
        name=name,
        transport=section.transport,
        command=section.command,
        directory=str(base / section.dir),
        environment=configuration.server_environment(section),
        url=section.url,
        token=configuration.secret(section.token_env, f"mcp.servers.{name}.token_env"),
        allow_private=section.allow_private,
        tools=section.tools,
        read_only=section.read_only,
        pure=section.pure,
        required=section.required,
        connect_timeout_s=section.connect_timeout_ms / 1000,
        timeout_s=section.timeout_ms / 1000,
    )


def _secret(names: tuple[str, ...], name: str) -> str | None:
    """One that a model may name, never see: those that redaction knows."""
    found = configuration.named_secrets([name]) if name in names else ()
    return found[0] if found else None


def approval_rules() -> tuple[Rule, ...]:
    """A person's yes before a model connects or disconnects anything; the text shows the whole command."""
    match = Matcher({"tools": Globs(APPROVED)})
    return (Rule("mcp", match, describe=approval_text, once=True),)
