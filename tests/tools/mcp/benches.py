"""A registry with MCP connections, and what a test does with them: wait for a state, call a tool, kill a server."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import trio

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.dispatch import execute
from hookgate.tools.mcp.connections import Connections, open_connections
from hookgate.tools.mcp.server import ServerListeners, ServerSpec, ServerState, ServerStatus
from hookgate.tools.registry import Registry

DEADLINE_S = 30.0
ODD = Path(__file__).parent / "servers" / "odd.py"
ENVIRONMENT = {"PATH": os.environ["PATH"], "HOME": "/"}


def odd(mode: str = "good", *more: object, name: str = "odd", **given: Any) -> ServerSpec:
    """The server that misbehaves in this way."""
    command = (sys.executable, str(ODD), mode, *map(str, more))
    return ServerSpec(name, "stdio", command, environment=ENVIRONMENT, **given)


@dataclass
class Bench:
    registry: Registry = field(default_factory=Registry)
    states: list[ServerState] = field(default_factory=list)
    heard: list[tuple[str, str, str]] = field(default_factory=list)
    _moved: trio.Event = field(default_factory=trio.Event)

    def __post_init__(self) -> None:
        self.connections = Connections(self.registry, ServerListeners(self._state, self._notification))

    def _state(self, state: ServerState) -> None:
        self.states.append(state)
        self._stir()

    def _notification(self, connection: str, method: str, text: str) -> None:
        self.heard.append((connection, method, text))
        self._stir()

    def _stir(self) -> None:
        self._moved.set()
        self._moved = trio.Event()

    async def until(self, true: Callable[[], bool]) -> None:
        """Until this holds after a state or a notification; fails at the deadline with what there was instead."""
        with trio.move_on_after(DEADLINE_S):
            while not true():
                await self._moved.wait()
            return
        raise AssertionError(f"it never held; {self.states[-3:]} {self.heard[-3:]} {self.connections.statuses()}")

    async def up(self, name: str = "odd", restarts: int = 0) -> ServerStatus:
        def is_up() -> bool:
            live = self.connections.get(name)
            return live is not None and live.state == "up" and live.restarts >= restarts

        await self.until(is_up)
        return self.status(name)

    def status(self, name: str = "odd") -> ServerStatus:
        live = self.connections.get(name)
        assert live is not None
        return live.status

    @property
    def names(self) -> list[str]:
        return [spec.name for spec in self.registry.snapshot().specs]

    async def call(self, tool: str, **arguments: Any) -> ToolResult:
        """Through the dispatcher, as the loop does."""
        found = self.registry.snapshot().get(tool)
        assert found is not None, f"{tool} is not among {self.names}"
        with trio.fail_after(DEADLINE_S):
            return await execute(found, ToolCall("call_1", tool, arguments))


@asynccontextmanager
async def opened(*specs: ServerSpec, bench: Bench | None = None) -> AsyncGenerator[Bench]:
    """With these servers started, and each tried once."""
    bench = bench or Bench()
    with trio.fail_after(60):
        async with open_connections(bench.connections, specs):
            with trio.fail_after(DEADLINE_S):
                await bench.connections.tried()
            yield bench


def pids(log: Path) -> list[int]:
    """The processes that a server has noted, one a start."""
    return [int(line) for line in log.read_text().splitlines()] if log.exists() else []


def texts(results: Sequence[ToolResult]) -> list[str]:
    return [result.for_llm for result in results]
