"""The `hookgate mcp` group: its commands' words and options. Imports click alone, as main does."""

from __future__ import annotations

from pathlib import Path

import click

from hookgate.cli.completion import completed
from hookgate.cli.exits import guarded
from hookgate.cli.names import connection_names
from hookgate.cli.options import ListingGroup, config_option, control_option, json_option, yes_option


@click.group(cls=ListingGroup)
def mcp() -> None:
    """MCP connections: list, approve, forget."""


@mcp.command(name="list")
@config_option
@control_option
@json_option
def mcp_list(config_file: Path | None, control: Path | None, as_json: bool) -> None:
    """The running gateway's connections, or else the configured ones."""
    from hookgate.cli.mcp.connections import list_connections

    guarded(lambda: list_connections(config_file, control, as_json=as_json))


@mcp.command(name="approve")
@click.argument("name", shell_complete=completed(connection_names))
@config_option
@control_option
@yes_option
def mcp_approve(name: str, config_file: Path | None, control: Path | None, yes: bool) -> None:
    """Vouch for a connection that a model made. It starts with hookgate then, with the tools that it has now."""
    from hookgate.cli.mcp.connections import approve_connection

    guarded(lambda: approve_connection(name, config_file, control, yes=yes))


@mcp.command(name="forget")
@click.argument("name", shell_complete=completed(connection_names))
@config_option
@control_option
@yes_option
def mcp_forget(name: str, config_file: Path | None, control: Path | None, yes: bool) -> None:
    """End a connection that a model made, and keep it no more."""
    from hookgate.cli.mcp.connections import forget_connection

    guarded(lambda: forget_connection(name, config_file, control, yes=yes))
