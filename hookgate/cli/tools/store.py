"""`hookgate tools describe` and `forget`: what the store keeps about tools, with or without a running gateway."""

from __future__ import annotations

import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from hookgate import config as configuration
from hookgate.cli.printing import failed, say
from hookgate.cli.running import ours
from hookgate.config import ConfigError
from hookgate.control.client import ControlFailed, NothingRunning, call
from hookgate.protocol.catalog import ServerRow, StoreFailed, ToolRow
from hookgate.protocol.dataclasses import dataclass
from hookgate.sections import Config

if TYPE_CHECKING:
    from hookgate.store import Store


@dataclass(frozen=True)
class Wording:
    """`text` None with `clear` off: only look."""

    name: str
    text: str | None = None
    clear: bool = False


@asynccontextmanager
async def open_kept(config: Config) -> AsyncGenerator[Store | None]:
    """The store where there is one; looking makes no file. Raises StoreFailed."""
    from hookgate.store import open_store

    file = configuration.store_file(config)
    if not file.exists():
        yield None
        return
    async with open_store(file) as store:
        yield store


# --- describe -----------------------------------------------------------------------------------------------


def describe_tool(wording: Wording, config_file: Path | None, control: Path | None) -> int:
    """Raises ConfigError, and NothingRunning for an explicit `control`."""
    config, _file = configuration.load(config_file)
    _check(wording)
    if wording.text is None and not wording.clear:
        return _run(lambda: _show(config, wording.name))
    socket = ours(config_file, control)
    status = _run(lambda: _edit(config, wording))
    if status == 0:
        tell(socket)
    if status == 0 and wording.text is not None:
        _run(lambda: _note(config, wording.name, socket))
    return status


def _check(wording: Wording) -> None:
    from hookgate.tools.schema.spec import MAX_DESCRIPTION_BYTES

    if wording.text is None:
        return
    if not wording.text.strip():
        raise ConfigError("a description must not be blank; --clear goes back to the tool's own")
    if len(wording.text.encode("utf-8", "replace")) > MAX_DESCRIPTION_BYTES:
        raise ConfigError(f"the description has more than {MAX_DESCRIPTION_BYTES} bytes")


async def _show(config: Config, name: str) -> int:
    async with open_kept(config) as store:
        row = store.descriptions.get(name) if store else None
        revision = store.revision if store else 0
    say(row.text if row else f"{name} has no description but its own")
    say(f"revision {row.revision if row else revision}")
    return 0


async def _edit(config: Config, wording: Wording) -> int:
    from hookgate.store import StoredDescriptions, open_store

    async with open_store(configuration.store_file(config)) as store:
        descriptions = StoredDescriptions(store)
        if wording.text is None:
            revision = await descriptions.delete(wording.name)
        else:
            revision = await descriptions.set(wording.name, wording.text)
    say(f"revision {revision}")
    return 0


async def _note(config: Config, name: str, socket: Path | None) -> int:
    """A tool may come later; it may also be mistyped. Nothing is started to find that out."""
    from hookgate.tools.names import ALL

    async with open_kept(config) as store:
        kept = store.tools(str(configuration.workspace_folder(config))) if store else ()
    known = {*ALL, *(row.name for row in kept), *_of_running(socket)}
    if name not in known:
        where = "" if socket else "; hooks, extensions and MCP servers were not asked"
        sys.stderr.write(f"note: no tool of this name is known here{where}\n")
    return 0


def _of_running(socket: Path | None) -> list[str]:
    if socket is None:
        return []
    try:
        rows = cast("list[dict[str, str]]", call(socket, "tools.list"))
    except (NothingRunning, ControlFailed):
        return []
    return [row["name"] for row in rows]


# --- forget -------------------------------------------------------------------------------------------------


def forget_tool(name: str, config_file: Path | None, control: Path | None, *, yes: bool) -> int:
    """1 where there is no such row, or the answer is no. Raises as describe_tool."""
    config, _file = configuration.load(config_file)
    workspace = str(configuration.workspace_folder(config))
    socket = ours(config_file, control)
    status = _run(lambda: _forget(config, (workspace, name), yes=yes))
    if status == 0 and tell(socket):
        say("the running hookgate keeps what it has started until it is restarted")
    return status


async def _forget(config: Config, key: tuple[str, str], *, yes: bool) -> int:
    workspace, name = key
    async with open_kept(config) as store:
        kept = (*store.tools(workspace), *store.servers(workspace)) if store else ()
        rows = [row for row in kept if row.name == name]
        if store is None or not rows:
            return failed(f"the catalog has neither a tool nor an MCP connection {name!r}")
        if not (yes or await _agreed(rows)):
            return 1
        for row in rows:
            remove = store.remove_tool if isinstance(row, ToolRow) else store.remove_server
            await remove(row.name, row.workspace)
            say(f"forgot {_called(row)}")
    return 0


async def _agreed(rows: Sequence[ToolRow | ServerRow]) -> bool:
    from hookgate.channels.terminal.question import Part, Question, measured
    from hookgate.cli.agreeing import agreed, yes_or_no

    parts = tuple(Part(str(number), _called(row)) for number, row in enumerate(rows, 1))
    return await agreed(Question("Forget this?", parts, (measured(rows[0].name, parts),), yes_or_no("forget it?")))


def _called(row: ToolRow | ServerRow) -> str:
    from hookgate.channels.printable import printable

    what = f"the tool {row.name} ({row.source})" if isinstance(row, ToolRow) else f"the MCP connection {row.name}"
    return printable(f"{what} of {row.workspace or 'every workspace'}")


# --- the store and the running gateway ----------------------------------------------------------------------


def _run(command: Callable[[], Awaitable[int]]) -> int:
    """What the store refuses is one line and status 1."""
    from hookgate.program.signals import run_interruptibly

    try:
        return run_interruptibly(command)
    except StoreFailed as error:
        return failed(str(error))


def tell(running: Path | None) -> bool:
    """Whether a running hookgate has taken the change over; one that has not is no reason to undo it."""
    if running is None:
        return False
    try:
        call(running, "tools.refresh")
    except (NothingRunning, ControlFailed) as error:
        failed(f"the running hookgate has not taken it over: {error}")
        return False
    return True
