"""All MCP connections: started side by side, listed, ended; a second one of the same name is refused at once.

One task starts them; each connection is owned by a task of its own.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager

import trio

from hookgate.tools.errors import BadSpec, NameConflict, ToolError
from hookgate.tools.mcp.connection import Connection
from hookgate.tools.mcp.server import RequiredServerFailed, ServerListeners, ServerSpec, ServerStatus
from hookgate.tools.registry import Registry

CLOSE_S = 5.0
"""How long all connections together may take to end in an orderly way."""
MAX_CONNECTIONS = 32


class Connections:
    def __init__(self, registry: Registry, told: ServerListeners) -> None:
        self._registry, self._told = registry, told
        self._open: dict[str, Connection] = {}
        self._configured: frozenset[str] = frozenset()
        self._starts, self._inbox = trio.open_memory_channel[Connection](MAX_CONNECTIONS * 2)

    def statuses(self) -> tuple[ServerStatus, ...]:
        """By name."""
        return tuple(self._open[name].status for name in sorted(self._open))

    def get(self, name: str) -> Connection | None:
        return self._open.get(name)

    def away(self, tool: str) -> str:
        """Why a tool cannot be called just now, its server being lost; empty: it can be, or no server had it."""
        if self._registry.snapshot().get(tool) is not None:
            return ""
        lost = next((it for it in self._open.values() if it.lacks(tool)), None)
        if lost is None:
            return ""
        return f"the MCP server {lost.spec.name} is not there now{f' ({lost.error})' if lost.error else ''}"

    async def connect(self, spec: ServerSpec, approved: Mapping[str, str] | None = None) -> ServerStatus:
        """Connect and register the tools, or leave nothing behind. `approved` as for a Connection.

        Raises ToolError: the name is taken, or there is no usable connection.
        """
        connection = self.start(spec, approved)
        try:
            await connection.tried.wait()
        except trio.Cancelled:
            self._drop(connection)
            raise
        status = connection.status
        if status.state == "up":
            return status
        await self._ended(connection)
        raise ToolError("transient", "mcp_connect", f"MCP server {spec.name}: {status.error}")

    async def disconnect(self, name: str) -> bool:
        """Its tools are gone at once, its process when this returns. Whether there was such a connection."""
        connection = self._open.get(name)
        if connection is not None:
            await self._ended(connection)
        return connection is not None

    def approve(self, name: str, digests: Mapping[str, str]) -> ServerStatus | None:
        """Take the connection's tools of these digests, by the server's names. Raises ToolError."""
        connection = self._open.get(name)
        if connection is None:
            return None
        try:
            connection.approve(digests)
        except (BadSpec, NameConflict) as error:
            raise ToolError("validation", "mcp_approve", f"its tools cannot be registered: {error}") from None
        return connection.status

    async def tried(self) -> None:
        """Until every connection that there is has been tried once."""
        for connection in tuple(self._open.values()):
            await connection.tried.wait()

    async def adopt(self, specs: Sequence[ServerSpec]) -> None:
        """The operator's servers from here on: what is gone or changed ends, what is new starts.

        Waits for no start.
        """
        wanted = {spec.name: spec for spec in specs}
        theirs = self._configured | wanted.keys()
        self._configured = frozenset(wanted)
        for connection in [it for it in self._open.values() if it.spec.name in theirs]:
            if wanted.get(connection.spec.name) != connection.spec:
                await self._ended(connection)
        for name, spec in wanted.items():
            if name not in self._open:
                self.start(spec)

    async def run(self, specs: Sequence[ServerSpec], task_status: trio.TaskStatus[None]) -> None:
        """Own every connection until cancelled. Reports started once the required ones are up."""
        async with trio.open_nursery() as nursery:
            self._configured = frozenset(spec.name for spec in specs)
            first = [self.start(spec) for spec in specs]
            nursery.start_soon(self._run_starts, nursery)
            for connection in first:
                await _required(connection)
            task_status.started()

    async def close(self) -> None:
        """End all side by side, politely."""
        for connection in self._open.values():
            connection.leave()
        for connection in tuple(self._open.values()):
            await connection.closed.wait()

    async def _run_starts(self, nursery: trio.Nursery) -> None:
        async for connection in self._inbox:
            nursery.start_soon(connection.run)

    def start(self, spec: ServerSpec, approved: Mapping[str, str] | None = None) -> Connection:
        """Take the name and begin to connect; waits for nothing. Raises ToolError."""
        if spec.name in self._open:
            raise ToolError("validation", "mcp_connect", f"there is a connection named {spec.name!r} already")
        if len(self._open) >= MAX_CONNECTIONS:
            raise ToolError("budget", "mcp_connect", f"there are {MAX_CONNECTIONS} connections already")
        connection = Connection(spec, self._registry, self._told, approved)
        self._open[spec.name] = connection
        self._starts.send_nowait(connection)
        return connection

    async def _ended(self, connection: Connection) -> None:
        self._drop(connection)
        await connection.closed.wait()

    def _drop(self, connection: Connection) -> None:
        connection.leave()
        if self._open.get(connection.spec.name) is connection:
            del self._open[connection.spec.name]


async def _required(connection: Connection) -> None:
    if not connection.spec.required:
        return
    await connection.tried.wait()
    if connection.state != "up":
        raise RequiredServerFailed(connection.spec.name, connection.error)


@asynccontextmanager
async def open_connections(connections: Connections, specs: Sequence[ServerSpec]) -> AsyncGenerator[Connections]:
    """Start the operator's servers side by side; waits only for those that are `required`. Leaving ends them all.

    Raises RequiredServerFailed, and nothing later: a server that is lost is connected again.
    """
    async with trio.open_nursery() as nursery:
        await nursery.start(connections.run, specs)
        try:
            yield connections
        finally:
            with trio.move_on_after(CLOSE_S, shield=True):
                await connections.close()
            nursery.cancel_scope.cancel()
