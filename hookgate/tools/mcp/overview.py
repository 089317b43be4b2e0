"""What there is to say of all MCP connections: the open ones, and kept ones that are not. Changes nothing."""

from __future__ import annotations

from hookgate.protocol.catalog import ConnectionStatus
from hookgate.tools.mcp.connect_request import plain
from hookgate.tools.mcp.roster import Kept, Roster
from hookgate.tools.mcp.server import ServerStatus


def line(it: ConnectionStatus, *, person: bool = False) -> str:
    """For reading; a person is also told who has approved it."""
    waiting = ", ".join(map(plain, it.waiting))
    parts = (
        f"{it.name}  {it.state}  {it.transport}  {it.tools} tools  by the {it.origin}",
        _vouched(it) if person else "",
        f"waiting for approval: {waiting}" if waiting else "",
        f"last error: {plain(it.last_error)}" if it.last_error else "",
    )
    return "  ".join(part for part in parts if part)


def _vouched(it: ConnectionStatus) -> str:
    """Who has approved what a model has made; its state says so already where it waits for that."""
    if it.origin != "model" or it.state == "needs_approval":
        return ""
    return f"approved by the {it.approved_by}" if it.approved_by else "not approved"


def overview(roster: Roster) -> tuple[ConnectionStatus, ...]:
    """By name."""
    rows = {kept.row.name: _kept(kept) for kept in roster.kept()}
    for status in roster.connections.statuses():
        kept = rows.get(status.name)
        rows[status.name] = _open(status, kept.approved_by if kept is not None else None)
    return tuple(rows[name] for name in sorted(rows))


def _open(it: ServerStatus, approved_by: str | None) -> ConnectionStatus:
    known = (it.name, it.state, it.transport, it.origin, len(it.tools), approved_by)
    return ConnectionStatus(*known, tuple(it.waiting), tuple(it.skipped), it.error, it.restarts)


def _kept(kept: Kept) -> ConnectionStatus:
    row = kept.row
    return ConnectionStatus(row.name, kept.state, row.transport, row.origin, approved_by=row.approved_by)
