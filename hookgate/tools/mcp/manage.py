"""The tools with which a model connects MCP servers, ends connections, and lists them. Approval is asked before."""

from __future__ import annotations

from hookgate.protocol.effects import RegistryEffect
from hookgate.protocol.values import Json, JsonObject, ToolCall, ToolResult, ToolSpec
from hookgate.tools.arguments import required
from hookgate.tools.dispatch import invalid
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed, failure
from hookgate.tools.mcp.asked import SCHEMA, read_asked
from hookgate.tools.mcp.roster import Kept, Roster
from hookgate.tools.mcp.server import NAME, ServerStatus

# Starting a program that is downloaded first takes its time; its handshake has a limit of its own.
CONNECT_TIMEOUT_S = 90.0
APPROVED = ("mcp_connect", "mcp_disconnect")
"""The tools that need a person's yes."""


class McpConnect:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.spec = ToolSpec(
            "mcp_connect",
            "Connect to an MCP server and add its tools at run time; they can be called from the next step on and "
            "can be removed again. stdio starts a program, http goes to a URL. A person is asked first.",
            SCHEMA,
            timeout_s=CONNECT_TIMEOUT_S,
            access="none",
        )

    def decode(self, call: ToolCall) -> ToolCall | ToolResult:
        """Refuses what no approval could make right, before anybody is asked."""
        refused = invalid(self.spec, call)
        if refused is not None:
            return refused
        try:
            read_asked(call.arguments)
        except ToolError as error:
            return failed(call.name, error)
        return call

    async def execute(self, call: ToolCall) -> ToolResult:
        status = await self._roster.add(read_asked(call.arguments))
        lines = [
            f"Connected to {status.name}: {len(status.tools)} tools, from the next step on.",
            *status.tools,
            *(f"left out: {line}" for line in status.skipped),
        ]
        return ToolResult("\n".join(lines), effects=(RegistryEffect(added=status.tools),))


class McpDisconnect:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.spec = ToolSpec(
            "mcp_disconnect",
            "End an MCP connection that mcp_connect made and remove its tools. A person is asked first.",
            {
                "type": "object",
                "properties": {"name": {"type": "string", "pattern": NAME}},
                "required": ["name"],
                "additionalProperties": False,
            },
            access="none",
        )

    async def execute(self, call: ToolCall) -> ToolResult:
        name = required(call, "name")
        status = self._roster.connections.status(name)
        if not await self._roster.remove(name):
            return failure("not_found", call.name, f"there is no MCP connection named {name!r}")
        removed = status.tools if status else ()
        return ToolResult(f"Disconnected {name}.", effects=(RegistryEffect(removed=removed),))


class McpList:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.spec = ToolSpec(
            "mcp_list",
            "List the MCP connections: state, tools, last error.",
            {"type": "object", "properties": {}, "additionalProperties": False},
            mutates=False,
            affects_workspace=False,
            access="none",
        )

    async def execute(self, call: ToolCall) -> ToolResult:
        statuses = self._roster.connections.statuses()
        open_names = {status.name for status in statuses}
        rows = tuple(kept for kept in self._roster.kept() if kept.row.name not in open_names)
        lines = sorted([_status_line(it) for it in statuses] + [_row_line(it) for it in rows])
        head = f"MCP connections: {len(lines)}"
        by_name = {it.name: _status_data(it) for it in statuses} | {it.row.name: _row_data(it) for it in rows}
        data: list[Json] = [by_name[name] for name in sorted(by_name)]
        return ToolResult("\n".join([head, *(lines or ["(empty)"])]), data={"connections": data})


def _status_line(status: ServerStatus) -> str:
    parts = [
        f"{status.name}  {status.state}  {status.transport}  {len(status.tools)} tools  by the {status.origin}",
        f"waiting for approval: {', '.join(status.waiting)}" if status.waiting else "",
        f"last error: {status.error}" if status.error else "",
    ]
    return "  ".join(part for part in parts if part)


def _status_data(status: ServerStatus) -> JsonObject:
    return {
        "name": status.name,
        "state": status.state,
        "transport": status.transport,
        "origin": status.origin,
        "tools": len(status.tools),
        "waiting": list(status.waiting),
        "skipped": list(status.skipped),
        "last_error": status.error,
        "restarts": status.restarts,
    }


def _row_line(kept: Kept) -> str:
    return f"{kept.row.name}  {kept.state}  {kept.row.transport}  0 tools  by the {kept.row.origin}"


def _row_data(kept: Kept) -> JsonObject:
    row = kept.row
    return {"name": row.name, "state": kept.state, "transport": row.transport, "origin": row.origin, "tools": 0}
