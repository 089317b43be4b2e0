"""`hookgate mcp list`, `approve` and `forget`: connections of the running gateway, else those configured and kept."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from hookgate import config as configuration
from hookgate.assembly.logs import set_up_logs
from hookgate.channels.printable import named, printable
from hookgate.channels.question import Part, Question, measured
from hookgate.cli.agreeing import agreed
from hookgate.cli.hooks.inspect import say
from hookgate.cli.running import Running, ours, running
from hookgate.cli.tools.store import open_kept
from hookgate.config import Config
from hookgate.control.client import NothingRunning, call
from hookgate.operations.mcp import OPERATOR, mcp_methods
from hookgate.operations.methods import ControlError
from hookgate.protocol.values import Json, JsonObject

if TYPE_CHECKING:
    from hookgate.tools.mcp.roster import Roster

LOOKS = 4
HERE = "No hookgate is running; this is what is configured and kept."


def list_connections(config_file: Path | None, control: Path | None, *, as_json: bool) -> int:
    """Raises ConfigError, StoreFailed, ControlFailed, and NothingRunning for an explicit `control`."""
    from hookgate.protocol.codec import encode
    from hookgate.tools.mcp.overview import line

    found = _running(config_file, control)
    if found is not None:
        if as_json:
            found.tell()
        rows, where = cast("list[JsonObject]", call(found.path, "mcp.list")), found.title
    else:
        config, _file = configuration.load(config_file)
        rows, where = _run(lambda: _rows(config)), HERE
    if as_json:
        say(encode(rows).decode())
        return 0
    say(where)
    for row in rows:
        say(printable(line(row, person=True)).replace("\n", " "))
    if not rows:
        say("no connections")
    return 0


def approve_connection(name: str, config_file: Path | None, control: Path | None, *, yes: bool) -> int:
    """1 where there is nothing to approve, it cannot be had, or the answer is no. Raises as list_connections."""
    config, _file = configuration.load(config_file)
    socket = ours(config_file, control)
    if socket is not None:
        return _run(lambda: _approve(partial(_asked_of, socket), name, yes=yes))
    set_up_logs(config.log)
    return _run(lambda: _approve_here(config, name, yes=yes))


def forget_connection(name: str, config_file: Path | None, control: Path | None, *, yes: bool) -> int:
    """1 where there is none, or the answer is no. Raises as list_connections."""
    config, _file = configuration.load(config_file)
    socket = ours(config_file, control)
    text = _run(lambda: _shown(config, name))
    if text and not yes and not agreed(_question("Forget", name, text)):
        return 1
    if socket is not None:
        there = call(socket, "mcp.forget", {"name": name})
    else:
        there = _run(lambda: _changed(config, lambda roster: roster.forget(name)))
    if not there:
        return 1 if there is None else _failed(f"no MCP connection {name!r} is kept for this workspace")
    say(f"forgot the MCP connection {name}")
    return 0


# --- without a running gateway ------------------------------------------------------------------------------


async def _rows(config: Config) -> list[JsonObject]:
    from hookgate.tools.mcp.overview import overview

    configured = (
        (name, "configured" if section.enabled else "disabled", section.transport)
        for name, section in config.mcp.servers.items()
    )
    rows: dict[str, JsonObject] = {
        name: {"name": name, "state": state, "transport": transport, "origin": OPERATOR, "tools": 0}
        for name, state, transport in configured
    }
    async with _open_roster(config) as roster:
        kept = overview(roster)
    # A kept one of a configured name does not start.
    return [{**rows[name]} for name in sorted(rows)] + [row for row in kept if row["name"] not in rows]


async def _shown(config: Config, name: str) -> str:
    """What is kept under this name, as it is shown to whoever approves it; empty where nothing is."""
    from hookgate.tools.errors import ToolError
    from hookgate.tools.mcp.asked import read_row, what_it_does

    async with _open_roster(config) as roster:
        row = next((kept.row for kept in roster.kept() if kept.row.name == name), None)
    if row is None:
        return ""
    try:
        return what_it_does(read_row(row))
    except ToolError as error:
        return error.reason


async def _changed(config: Config, change: Callable[[Roster], Awaitable[Any]]) -> Any:  # noqa: ANN401 - what it gives
    """None where the change was refused, which is said."""
    from hookgate.tools.errors import ToolError

    async with _open_roster(config) as roster:
        try:
            return await change(roster)
        except ToolError as error:
            _failed(error.reason)
            return None


async def _approve_here(config: Config, name: str, *, yes: bool) -> int:
    async with _open_roster(config) as roster:
        methods = mcp_methods(roster)
        try:
            return await _approve(lambda method, params: methods[method].call(**params), name, yes=yes)
        except ControlError as error:
            return _failed(str(error))


@asynccontextmanager
async def _open_roster(config: Config) -> AsyncGenerator[Roster]:
    """With nothing started; what a change connects ends with it."""
    from hookgate.assembly.mcp import McpParts, make_roster
    from hookgate.tools.mcp.connections import Connections, open_connections
    from hookgate.tools.mcp.server import Told
    from hookgate.tools.registry import Registry

    registry, told, workspace = Registry(), Told(), configuration.workspace_folder(config)
    connections = Connections(registry, told)
    configured = [name for name, section in config.mcp.servers.items() if section.enabled]
    async with open_kept(config) as store, open_connections(connections, ()):
        yield make_roster(config, connections, McpParts(registry, workspace, told, store), configured)


# --- approving ----------------------------------------------------------------------------------------------


async def _asked_of(socket: Path, method: str, params: JsonObject) -> Json:
    import trio

    return await trio.to_thread.run_sync(call, socket, method, params)


async def _approve(ask: Callable[[str, JsonObject], Awaitable[Json]], name: str, *, yes: bool) -> int:
    """What is approved is what was shown; what a connection offers is seen only once it runs, so in a second look."""
    import trio

    for _look in range(LOOKS):
        shown = cast("dict[str, Any]", await ask("mcp.show", {"name": name}))
        question = _question("Approve", name, shown["text"])
        if not yes and not await trio.to_thread.run_sync(agreed, question, abandon_on_cancel=True):
            return 1
        seen: JsonObject = {"name": name, "row": shown["row"], "tools": shown["tools"]}
        done = cast("dict[str, Any]", await ask("mcp.approve", seen))
        if not done["waiting"]:
            say(f"{name} is approved with {done['tools']} tools; it comes back with every start")
            return 0
    return _failed(f"the tools of {name} change faster than they can be approved")


# --- asking -------------------------------------------------------------------------------------------------


def _run(command: Callable[[], Awaitable[Any]]) -> Any:  # noqa: ANN401 - what the command gives
    import trio

    return trio.run(command)


def _running(config_file: Path | None, control: Path | None) -> Running | None:
    """Raises NothingRunning where it was named and nobody listens."""
    try:
        return running(config_file, control)
    except NothingRunning:
        if control is not None:
            raise
        return None


def _question(verb: str, name: str, text: str) -> Question:
    parts = (Part("what it is", text),)
    head = f"{verb} the MCP connection {named(name)} as it is?"
    return Question(head, parts, (measured(name, parts),), f"  {verb.lower()} it? [y/N] ")


def _failed(line: str) -> int:
    sys.stderr.write(f"hookgate: {printable(line)}\n")
    return 1
