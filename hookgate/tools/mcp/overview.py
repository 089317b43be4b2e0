"""What there is to say of all MCP connections: the open ones, and kept ones that are not. Changes nothing."""

from __future__ import annotations

from typing import Any, cast

from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.mcp.roster import Kept, Roster
from hookgate.tools.mcp.server import ServerStatus


def overview(roster: Roster) -> list[JsonObject]:
    """By name: `name`, `state`, `transport`, `origin`, `tools` (how many); of open ones also `waiting`, `skipped`,
    `last_error`, `restarts`."""
    statuses = roster.connections.statuses()
    rows: dict[str, JsonObject] = {kept.row.name: _row(kept) for kept in roster.kept()}
    rows |= {status.name: _status(status) for status in statuses}
    return [rows[name] for name in sorted(rows)]


def line(row: JsonObject) -> str:
    """One connection for reading."""
    waiting = ", ".join(cast("list[str]", row.get("waiting") or []))
    given: dict[str, Any] = dict(row)
    parts = [
        "{name}  {state}  {transport}  {tools} tools  by the {origin}".format(**given),
        f"waiting for approval: {waiting}" if waiting else "",
        f"last error: {given['last_error']}" if given.get("last_error") else "",
    ]
    return "  ".join(part for part in parts if part)


def _status(status: ServerStatus) -> JsonObject:
    waiting: list[Json] = list(status.waiting)
    skipped: list[Json] = list(status.skipped)
    return {
        "name": status.name,
        "state": status.state,
        "transport": status.transport,
        "origin": status.origin,
        "tools": len(status.tools),
        "waiting": waiting,
        "skipped": skipped,
        "last_error": status.error,
        "restarts": status.restarts,
    }


def _row(kept: Kept) -> JsonObject:
    row = kept.row
    return {"name": row.name, "state": kept.state, "transport": row.transport, "origin": row.origin, "tools": 0}
