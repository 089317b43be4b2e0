"""`hookgate mcp list`, `approve` and `forget`: connections of the running gateway, else those configured and kept."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Protocol, TypeVar

import trio

from hookgate import config as configuration
from hookgate.assembly.logs.opening import set_up_logs
from hookgate.assembly.tools.opening import More
from hookgate.channels.printable import named, one_line
from hookgate.channels.terminal.question import Part, Question, measured
from hookgate.cli.agreeing import agreed, yes_or_no
from hookgate.cli.printing import failed, say, say_rows
from hookgate.cli.running import asked, ours, running_or_none
from hookgate.cli.tools.store import open_kept
from hookgate.control.client import call, read_rows
from hookgate.operations import mcp
from hookgate.operations.mcp import Approved, ConnectionToApprove
from hookgate.operations.refused import OperationRefused
from hookgate.program.signals import run_interruptibly
from hookgate.protocol.approval import OPERATOR
from hookgate.protocol.catalog import ConnectionStatus
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import JsonObject
from hookgate.sections import Config

T = TypeVar("T")

LOOKS = 4
HERE = "No hookgate of this configuration is running; this is what is configured and kept."


def list_connections(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError, StoreFailed, ControlFailed, and NothingRunning for an explicit `control`."""
    from hookgate.tools.mcp.overview import line

    found = running_or_none(config_file, control)
    if found is not None:
        rows, where = asked("mcp.list", ConnectionStatus, found, tell=as_json)
    else:
        config, _file = configuration.load(config_file)
        rows, where = run_interruptibly(_rows, config), HERE
    lines = [one_line(line(row, person=True)) for row in rows] or ["no connections"]
    return say_rows(rows, lambda: [where, *lines], as_json=as_json)


def approve_connection(name: str, config_file: Path | None, control: Path | None, *, yes: bool) -> int:
    """1 where there is nothing to approve, it cannot be had, or the answer is no. Raises as list_connections."""
    config, _file = configuration.load(config_file)
    socket = ours(config_file, control)
    if socket is not None:
        return run_interruptibly(partial(_approve, Remote(socket), name, yes=yes))
    set_up_logs(config.log)
    return run_interruptibly(partial(_approve_here, config, name, yes=yes))


def forget_connection(name: str, config_file: Path | None, control: Path | None, *, yes: bool) -> int:
    """1 where there is none, or the answer is no. Raises as list_connections."""
    config, _file = configuration.load(config_file)
    socket = ours(config_file, control)
    text = run_interruptibly(_shown, config, name)
    if text and not yes and not run_interruptibly(agreed, _question("Forget", name, text)):
        return 1
    there = (
        call(socket, "mcp.forget", {"name": name})
        if socket is not None
        else run_interruptibly(_forget_here, config, name)
    )
    if not there:
        return 1 if there is None else failed(f"no MCP connection {name!r} is kept for this workspace")
    say(f"forgot the MCP connection {name}")
    return 0


# --- without a running gateway ------------------------------------------------------------------------------


async def _rows(config: Config) -> tuple[ConnectionStatus, ...]:

    configured = {
        name: ConnectionStatus(name, "configured" if section.enabled else "disabled", section.transport, OPERATOR.id)
        for name, section in sorted(config.mcp.servers.items())
    }
    async with _open_more(config) as more:
        kept = await mcp.list_connections(more)
    # A kept one of a configured name does not start.
    return (*configured.values(), *(row for row in kept if row.name not in configured))


async def _shown(config: Config, name: str) -> str:
    """What is kept under this name, as it is shown to whoever approves it; empty where nothing is."""
    from hookgate.tools.errors import ToolError
    from hookgate.tools.mcp.connect_request import read_row, what_it_does

    async with _open_more(config) as more:
        kept = more.roster.kept() if more.roster is not None else ()
    row = next((it.row for it in kept if it.row.name == name), None)
    if row is None:
        return ""
    try:
        return what_it_does(read_row(row))
    except ToolError as error:
        return error.reason


async def _forget_here(config: Config, name: str) -> bool | None:
    """None where it was refused, which is said."""
    async with _open_more(config) as more:
        try:
            return await mcp.forget_connection(more, name)
        except OperationRefused as error:
            failed(str(error))
            return None


async def _approve_here(config: Config, name: str, *, yes: bool) -> int:
    async with _open_more(config) as more:
        try:
            return await _approve(Here(more), name, yes=yes)
        except OperationRefused as error:
            return failed(str(error))


@asynccontextmanager
async def _open_more(config: Config) -> AsyncGenerator[More]:
    """With nothing started; what a change connects ends with it."""
    from hookgate.assembly.tools.mcp import McpParts, make_roster
    from hookgate.tools.mcp.connections import Connections, open_connections
    from hookgate.tools.mcp.server import ServerListeners
    from hookgate.tools.registry import Registry

    registry, told, workspace = Registry(), ServerListeners(), configuration.workspace_folder(config)
    connections = Connections(registry, told)
    configured = [name for name, section in config.mcp.servers.items() if section.enabled]
    async with open_kept(config) as store, open_connections(connections, ()):
        yield More(roster=make_roster(config, connections, McpParts(registry, workspace, told, store), configured))


# --- approving ----------------------------------------------------------------------------------------------


class Operator(Protocol):
    async def show(self, name: str) -> ConnectionToApprove: ...
    async def approve(self, shown: ConnectionToApprove) -> Approved: ...


@dataclass(frozen=True)
class Here:
    """Of connections that this command has opened."""

    more: More

    async def show(self, name: str) -> ConnectionToApprove:
        return await mcp.show_connection(self.more, name)

    async def approve(self, shown: ConnectionToApprove) -> Approved:
        return await mcp.approve_connection(self.more, shown.name, shown.row, dict(shown.tools))


@dataclass(frozen=True)
class Remote:
    """Of the gateway that listens at this control socket."""

    socket: Path

    async def show(self, name: str) -> ConnectionToApprove:
        return await self._asked(ConnectionToApprove, "mcp.show", {"name": name})

    async def approve(self, shown: ConnectionToApprove) -> Approved:
        seen: JsonObject = {"name": shown.name, "row": shown.row, "tools": shown.tools}
        return await self._asked(Approved, "mcp.approve", seen)

    async def _asked(self, shape: type[T], method: str, params: JsonObject) -> T:
        (answer,) = read_rows(shape, [await trio.to_thread.run_sync(call, self.socket, method, params)])
        return answer


async def _approve(operator: Operator, name: str, *, yes: bool) -> int:
    """What is approved is what was shown; what a connection offers is seen only once it runs, so in a second look."""
    for _look in range(LOOKS):
        shown = await operator.show(name)
        question = _question("Approve", name, shown.text)
        if not yes and not await agreed(question):
            return 1
        done = await operator.approve(shown)
        if not done.waiting:
            say(f"{name} is approved with {done.tools} tools; it comes back with every start")
            return 0
    return failed(f"the tools of {name} change faster than they can be approved")


# --- asking -------------------------------------------------------------------------------------------------


def _question(verb: str, name: str, text: str) -> Question:
    parts = (Part("what it is", text),)
    head = f"{verb} the MCP connection {named(name)} as it is?"
    return Question(head, parts, (measured(name, parts),), yes_or_no(f"{verb.lower()} it?"))
