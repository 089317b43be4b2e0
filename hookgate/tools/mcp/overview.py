"""What there is to say of all MCP connections: the open ones, and kept ones that are not. Changes nothing."""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.tools.mcp.asked import plain
from hookgate.tools.mcp.roster import Kept, Roster
from hookgate.tools.mcp.server import ServerStatus


@dataclass(frozen=True)
class ConnectionStatus:
    """`tools`: how many. `approved_by`: of kept ones; `waiting`: tools that nobody has approved; all after it are of
    open ones."""

    name: str
    state: str
    transport: str
    origin: str
    tools: int = 0
    approved_by: str | None = None
    waiting: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    last_error: str = ""
    restarts: int = 0

    def line(self, *, person: bool = False) -> str:
        """For reading; a person is also told who has approved it."""
        waiting = ", ".join(map(plain, self.waiting))
        parts = (
            f"{self.name}  {self.state}  {self.transport}  {self.tools} tools  by the {self.origin}",
            self._vouched() if person else "",
            f"waiting for approval: {waiting}" if waiting else "",
            f"last error: {plain(self.last_error)}" if self.last_error else "",
        )
        return "  ".join(part for part in parts if part)

    def _vouched(self) -> str:
        """Who has approved what a model has made; its state says so already where it waits for that."""
        if self.origin != "model" or self.state == "needs_approval":
            return ""
        return f"approved by the {self.approved_by}" if self.approved_by else "not approved"


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
