"""A workshop for tests: real programs in the real sandbox, files in a temporary folder, a catalog in memory."""

from __future__ import annotations

import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import trio

from hookgate.assembly.tools.dynamic import open_tool_processes
from hookgate.protocol.catalog import EVERYWHERE, Catalog, Seen, ServerRow, StoreFailed, ToolRow
from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.tools.dispatch import execute
from hookgate.tools.dynamic.ledger import Ledger
from hookgate.tools.dynamic.lifecycle import lifecycle_tools
from hookgate.tools.dynamic.made import Workplace
from hookgate.tools.dynamic.shelf import Shelf
from hookgate.tools.dynamic.workshop import Terms, Workshop, open_workshop
from hookgate.tools.registry import Registry
from hookgate.tools.shell.sandbox import Sandbox, SandboxOptions, open_shelter

DEADLINE_S = 30.0
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": os.environ.get("HOME", "/"), "LANG": "C.UTF-8"}


@dataclass
class MemoryCatalog:
    """Keeps rows as the protocol says, in memory. `broken`: writes fail with this."""

    rows: dict[tuple[str, str], ToolRow] = field(default_factory=dict)
    broken: StoreFailed | None = None

    def tools(self, workspace: str = EVERYWHERE) -> tuple[ToolRow, ...]:
        seen = {name: row for (where, name), row in sorted(self.rows.items()) if where in (EVERYWHERE, workspace)}
        return tuple(seen[name] for name in sorted(seen))

    def servers(self, workspace: str = EVERYWHERE) -> tuple[ServerRow, ...]:
        return ()

    async def put_tool(self, row: ToolRow, seen: Seen | None = None) -> ToolRow:
        await self._write()
        self.rows[row.workspace, row.name] = row
        return row

    async def remove_tool(self, name: str, workspace: str = EVERYWHERE, seen: Seen | None = None) -> bool:
        await self._write()
        return self.rows.pop((workspace, name), None) is not None

    async def put_server(self, row: ServerRow, seen: Seen | None = None) -> ServerRow:
        raise NotImplementedError

    async def remove_server(self, name: str, workspace: str = EVERYWHERE) -> bool:
        raise NotImplementedError

    async def _write(self) -> None:
        await trio.lowlevel.checkpoint()
        if self.broken is not None:
            raise self.broken


class Other:
    """A tool of another provider."""

    def __init__(self, name: str, provider: str) -> None:
        self.spec = ToolSpec(name, "", {"type": "object"}, provider=provider)

    async def execute(self, call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("other")


@dataclass
class Shop:
    """`call` goes through the dispatcher, as the loop does; `new` is a call of new_tool."""

    workshop: Workshop
    registry: Registry
    folder: Path

    async def call(self, name: str, /, **arguments: Any) -> ToolResult:
        tool = self.registry.snapshot().get(name)
        assert tool is not None, f"{name} is not registered"
        return await execute(tool, ToolCall("call_1", name, arguments))

    async def new(self, name: str, body: str, /, **more: Any) -> ToolResult:
        return await self.call("new_tool", **{"name": name, "description": "A tool.", "body": body, **more})

    async def made(self, name: str, body: str, /, **more: Any) -> None:
        """As `new`, for tests that are about what comes after it."""
        result = await self.new(name, body, **more)
        assert not result.is_error, result.for_llm

    async def approve(self, name: str, *, everywhere: bool = False) -> None:
        """The operator has looked at it as it is now."""
        await self.workshop.approve(self.workshop.ledger.known(name, "approve"), "ann", everywhere=everywhere)

    async def states(self) -> dict[str, str]:
        return {it.row.name: it.state for it in await self.workshop.standings()}

    def names(self) -> set[str]:
        return set(self.registry.snapshot().tools) - {"new_tool", "unregister_tool"}


@asynccontextmanager
async def open_shop(
    folder: Path, catalog: Catalog | None = None, terms: Terms | None = None, **place: Any
) -> AsyncGenerator[Shop]:
    """`place` are fields of Workplace; `mode` is the sandbox's, `workspace` the ledger's, and `registry` may hold
    tools already."""
    registry: Registry = place.pop("registry", None) or Registry()
    workspace = place.pop("workspace", EVERYWHERE)
    with trio.fail_after(place.pop("deadline_s", DEADLINE_S)):
        async with open_walls(folder, place.pop("mode", "auto")) as walls, open_tool_processes() as opened:
            where = replace(Workplace(opened, walls, ENVIRONMENT), **place)
            ledger = Ledger(catalog or MemoryCatalog(), registry, Shelf(folder / "tools"), workspace)
            workshop = Workshop(terms or Terms(), where, ledger)
            for tool in lifecycle_tools(workshop):
                registry.register(tool, reserved=True)
            async with open_workshop(workshop):
                yield Shop(workshop, registry, folder / "tools")


@asynccontextmanager
async def open_walls(folder: Path, mode: Any = "auto") -> AsyncGenerator[Sandbox]:
    async with open_shelter(folder, ENVIRONMENT, SandboxOptions(mode, network=False)) as shelter:
        yield await shelter.chosen()
