"""Connections together with their rows in the catalog: what is made at run time, what comes back after a restart.

Asks nobody: whoever calls has the approval.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import field
from hashlib import sha256
from pathlib import Path

import structlog
import trio

from hookgate.protocol.catalog import Catalog, RowState, Seen, ServerRow, StoreChanged, StoreFailed
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.tools.errors import ToolError
from hookgate.tools.mcp.connect_request import SECRET, ConnectRequest, read_row
from hookgate.tools.mcp.connections import CLOSE_S, Connections
from hookgate.tools.mcp.server import ServerSpec, ServerStatus

log = structlog.get_logger("hookgate.mcp")

APPROVE = "mcp_approve"
AGAIN = "look at it once more"


@dataclass(frozen=True)
class ServerSurroundings:
    """Where connections made at run time live: the workspace, the environment that their programs get, and the
    secrets that may be named (None: there is no such secret, or it may not be named)."""

    workspace: Path
    environment: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    secret: Callable[[str], str | None] = lambda _name: None


@dataclass(frozen=True, slots=True)
class Kept:
    """A row of the catalog and whether it may start."""

    row: ServerRow
    state: RowState


@dataclass(frozen=True, slots=True)
class SeenDigests:
    """What a person has seen of a connection: digests of its row, empty without one, and of each tool that its server
    offers, by the server's own name."""

    name: str
    row: str = ""
    tools: Mapping[str, str] = field(default_factory=dict[str, str])


class Roster:
    """`configured`: names of the operator's servers, which no row can take."""

    def __init__(
        self,
        connections: Connections,
        catalog: Catalog | None,
        place: ServerSurroundings,
        configured: frozenset[str] = frozenset(),
    ) -> None:
        self.connections = connections
        self._catalog, self._place, self._configured = catalog, place, configured

    async def add(self, asked: ConnectRequest) -> ServerStatus:
        """Connect, then keep it; neither, if one fails. Raises ToolError."""
        row = self.row(asked.name)
        if row is not None and row.origin == "operator":
            raise ToolError("permission", "mcp_connect", f"the connection {asked.name} belongs to the operator")
        status = await self.connections.connect(self.spec(asked))
        fresh = ServerRow(
            name=asked.name,
            transport=asked.transport,
            params=asked.params,
            origin="model",
            workspace=self._workspace,
            secret_ref=asked.secret,
            tool_hashes=status.hashes,
        )
        try:
            await self._put(fresh)
        except BaseException:
            with trio.move_on_after(CLOSE_S, shield=True):
                await self.connections.disconnect(asked.name)
            raise
        return status

    async def remove(self, name: str) -> bool:
        """The row and the connection. Whether there was one. Raises ToolError for an operator's."""
        live, row = self.connections.get(name), self.row(name)
        origins = {it.origin for it in (live and live.spec, row) if it is not None}
        if "operator" in origins:
            raise ToolError("permission", "mcp_disconnect", f"the connection {name} belongs to the operator")
        await self._drop(row)
        await self.connections.disconnect(name)
        return bool(origins)

    async def forget(self, name: str) -> bool:
        """For a person: the row, whoever's it is, and its connection. Whether there was one.

        Raises ToolError for a server of the configuration.
        """
        row, configured = self.row(name), name in self._configured
        if row is None and configured:
            raise ToolError("permission", "mcp_forget", f"{name} stands in the configuration: take it out there")
        await self._drop(row)
        ended = not configured and await self.connections.disconnect(name)
        return row is not None or ended

    async def _drop(self, row: ServerRow | None) -> None:
        if row is None or self._catalog is None:
            return
        try:
            await self._catalog.remove_server(row.name, row.workspace)
        except StoreFailed as error:
            raise ToolError("transient", "mcp_disconnect", f"the catalog was not changed: {error}") from None

    def shown(self, name: str) -> SeenDigests:
        """What there is to approve of a connection. Raises ToolError."""
        if name in self._configured:
            raise ToolError("validation", APPROVE, f"{name} stands in the configuration and needs no approval")
        row, live = self.row(name), self.connections.get(name)
        if row is None and live is None:
            raise ToolError("not_found", APPROVE, f"no MCP connection {name!r} is kept for this workspace")
        if (
            row is not None
            and live is not None
            and replace(self.spec(read_row(row)), origin=live.spec.origin) != live.spec
        ):
            reason = f"the connection {name} that runs here is not the one that is kept: forget it, or start again"
            raise ToolError("stale", APPROVE, reason)
        return SeenDigests(name, _digest(row) if row else "", live.status.hashes if live else {})

    async def approve(self, shown: SeenDigests, by: str) -> ServerStatus:
        """For a person: take what was shown, now and after every restart. A connection that waits is started, and
        takes the tools that were approved before; those that then wait were not shown yet.

        Raises ToolError; `stale` where something is not what was shown.
        """
        name = shown.name
        if self.shown(name) != shown:
            raise ToolError("stale", APPROVE, f"{name} is not what was shown: {AGAIN}")
        row = self.row(name)
        if row is not None and self.connections.get(name) is None:
            return await self._started(row, by)
        digests = shown.tools or (row.tool_hashes if row else {})
        if row is not None:
            await self._put(_vouched(replace(row, tool_hashes=digests), by), Seen(row, self._workspace))
        status = self.connections.approve(name, digests)
        if status is None:
            raise ToolError("transient", APPROVE, f"{name} has ended meanwhile: {AGAIN}")
        return status

    async def _started(self, row: ServerRow, by: str) -> ServerStatus:
        status = await self.connections.connect(self.spec(read_row(row)), row.tool_hashes)
        try:
            await self._put(_vouched(row, by), Seen(row, self._workspace))
        except BaseException:
            with trio.move_on_after(CLOSE_S, shield=True):
                await self.connections.disconnect(row.name)
            raise
        return status

    # --- after a restart ------------------------------------------------------------------------------------

    def kept(self) -> tuple[Kept, ...]:
        """Every row by name, with its state."""
        if self._catalog is None:
            return ()
        return tuple(Kept(row, self._state(row)) for row in self._catalog.servers(self._workspace))

    def restore(self) -> tuple[Kept, ...]:
        """Start the rows that may; waits for none. The others, for whoever shows them."""
        waiting: list[Kept] = []
        for kept in self.kept():
            if kept.state == "ok":
                self._start(kept.row)
            else:
                waiting.append(kept)
                log.info("mcp_not_started", connection=kept.row.name, state=kept.state)
        return tuple(waiting)

    def _start(self, row: ServerRow) -> None:
        approved = row.tool_hashes if row.origin == "model" else None
        try:
            self.connections.start(replace(self.spec(read_row(row)), origin=row.origin), approved)
        except ToolError as error:
            log.warning("mcp_not_started", connection=row.name, reason=error.reason)

    def _state(self, row: ServerRow) -> RowState:
        if not row.enabled:
            return "disabled"
        if row.name in self._configured:
            return "shadowed"
        if row.origin == "model" and row.approved_by is None:
            return "needs_approval"
        return "ok" if self._usable(row) else "missing"

    def _usable(self, row: ServerRow) -> bool:
        """Whether its program and its secrets are still there."""
        try:
            spec = self.spec(read_row(row))
        except ToolError:
            return False
        return spec.transport == "http" or not Path(spec.command[0]).is_absolute() or Path(spec.command[0]).exists()

    # --- rows and specs -------------------------------------------------------------------------------------

    def spec(self, asked: ConnectRequest) -> ServerSpec:
        """Raises ToolError where a secret is not there."""
        environment = {name: self._resolved(value) for name, value in asked.env.items()}
        return ServerSpec(
            asked.name,
            asked.transport,
            asked.command,
            directory=str(self._place.workspace),
            environment={**self._place.environment, **environment},
            url=asked.url,
            token=self._resolved(asked.secret) if asked.secret else None,
            origin="model",
        )

    def _resolved(self, value: str) -> str:
        if not value.startswith(SECRET):
            return value
        found = self._place.secret(value.removeprefix(SECRET))
        if found is None:
            raise ToolError("validation", "mcp_connect", f"{value} is no secret that may be used here")
        return found

    @property
    def _workspace(self) -> str:
        return str(self._place.workspace)

    def row(self, name: str) -> ServerRow | None:
        rows = self._catalog.servers(self._workspace) if self._catalog is not None else ()
        return next((row for row in rows if row.name == name), None)

    async def _put(self, row: ServerRow, seen: Seen | None = None) -> None:
        if self._catalog is None:
            return
        try:
            await self._catalog.put_server(row, seen)
        except StoreChanged:
            raise ToolError("stale", APPROVE, f"another hookgate has changed {row.name}: {AGAIN}") from None
        except StoreFailed as error:
            raise ToolError("transient", "mcp_connect", f"the connection cannot be kept: {error}") from None


def _digest(row: ServerRow) -> str:
    parts = [row.workspace, row.name, row.transport, row.params, row.secret_ref, dict(row.tool_hashes), row.origin]
    return sha256(canonical(parts)).hexdigest()


def _vouched(row: ServerRow, by: str) -> ServerRow:
    return replace(row, approved_by=by, approved_at=time.time())
