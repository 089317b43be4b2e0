"""What there is to say of all MCP connections: the open ones, and kept ones that are not. Changes nothing."""

from __future__ import annotations

from typing import Any, cast

from hookgate.protocol.values import Json, JsonObject
from hookgate.tools.mcp.asked import plain
from hookgate.tools.mcp.roster import Kept, Roster
from hookgate.tools.mcp.server import ServerStatus


def overview(roster: Roster) -> list[JsonObject]:
    """By name: `name`, `state`, `transport`, `origin`, `tools` (how many); of kept ones also `approved_by`; of open
    ones also `waiting`, `skipped`, `last_error`, `restarts`."""
    rows: dict[str, JsonObject] = {kept.row.name: _row(kept) for kept in roster.kept()}
    for status in roster.connections.statuses():
        kept = rows.get(status.name, {})
        approved: JsonObject = {"approved_by": kept["approved_by"]} if kept else {}
        rows[status.name] = {**_status(status), **approved}
    return [rows[name] for name in sorted(rows)]


def line(row: JsonObject, *, person: bool = False) -> str:
    """One connection for reading; a person is also told who has approved it."""
    waiting = ", ".join(plain(name) for name in cast("list[str]", row.get("waiting") or []))
    given: dict[str, Any] = dict(row)
    parts = [
        "{name}  {state}  {transport}  {tools} tools  by the {origin}".format(**given),
        _vouched(row) if person else "",
        f"waiting for approval: {waiting}" if waiting else "",
        f"last error: {plain(given['last_error'])}" if given.get("last_error") else "",
    ]
    return "  ".join(part for part in parts if part)


def _vouched(row: JsonObject) -> str:
    """Who has approved what a model has made; its state says so already where it waits for that."""
    if row["origin"] != "model" or row["state"] == "needs_approval":
        return ""
    by = row.get("approved_by")
    return f"approved by the {by}" if by else "not approved"


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
    return {
        "name": row.name,
        "state": kept.state,
        "transport": row.transport,
        "origin": row.origin,
        "tools": 0,
        "approved_by": row.approved_by,
    }
