"""MCP servers that the editor names, as servers of the configuration: whoever set up the editor wanted them."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

from pydantic import ValidationError

from hookgate.protocol.acp.requests import HttpServer, Server, StdioServer
from hookgate.sections import Config
from hookgate.sections.tools import McpSection
from hookgate.tools.mcp.server import NAME
from hookgate.tools.mcp.transport import sdk


class Unusable(Exception):
    """The text says why this server is left out."""


def with_servers(config: Config, folder: Path, servers: Iterable[Server]) -> tuple[Config, tuple[str, ...]]:
    """The configuration with them, and a line for each that is left out. They are started in `folder`, and their
    tools pass the gate as those of any other server do."""
    sections, left_out = dict(config.mcp.servers), list[str]()
    for server in servers:
        try:
            name = _name(server.name, sections)
            sections[name] = _section(server, folder)
        except Unusable as error:
            left_out.append(f"The MCP server {server.name!r} of the editor is left out: {error}.")
    mcp = config.mcp.model_copy(update={"servers": sections})
    return config.model_copy(update={"mcp": mcp}), tuple(left_out)


def _name(given: str, taken: Iterable[str]) -> str:
    """As the prefix of its tools. Raises Unusable."""
    name = re.sub(r"[^a-z0-9]+", "_", given.lower()).strip("_")
    if not re.fullmatch(NAME, name):
        raise Unusable("its name has to begin with a letter, and to have two letters or digits at least")
    if name in taken:
        raise Unusable(f"there is a server {name} already")
    return name


def _section(server: Server, folder: Path) -> McpSection:
    """Raises Unusable."""
    if not sdk.installed():
        raise Unusable(sdk.MISSING)
    try:
        match server:
            case StdioServer():
                environment = {it.name: it.value for it in server.env}
                command = (server.command, *server.args)
                return McpSection(transport="stdio", command=command, dir=str(folder), env=environment)
            case HttpServer(type="sse"):
                raise Unusable("servers over SSE are not supported")
            case HttpServer() if server.headers:
                named = "[mcp.servers.NAME] in hookgate.toml, with token_env, can do it"
                raise Unusable(f"headers of its own are not supported; {named}")
            case HttpServer():
                return McpSection(transport="http", url=server.url, allow_private=True)
    except ValidationError as error:
        raise Unusable(error.errors(include_url=False)[0]["msg"]) from None
