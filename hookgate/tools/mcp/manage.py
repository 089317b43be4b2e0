"""The tools with which a model connects MCP servers, ends connections, and lists them. Approval is asked before."""

from __future__ import annotations

from dataclasses import asdict

from hookgate.protocol.values import ToolCall, ToolResult, ToolSpec
from hookgate.protocol.values.effects import RegistryEffect
from hookgate.tools.arguments import required
from hookgate.tools.dispatch import invalid
from hookgate.tools.errors import ToolError
from hookgate.tools.failures import failed, failure
from hookgate.tools.mcp.connect_request import SCHEMA, read_request
from hookgate.tools.mcp.overview import line, overview
from hookgate.tools.mcp.roster import Roster
from hookgate.tools.mcp.server import NAME
from hookgate.tools.schema.objects import takes

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
            read_request(call.arguments)
        except ToolError as error:
            return failed(call.name, error)
        return call

    async def execute(self, call: ToolCall) -> ToolResult:
        status = await self._roster.add(read_request(call.arguments))
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
            takes("name", name={"type": "string", "pattern": NAME}),
            access="none",
        )

    async def execute(self, call: ToolCall) -> ToolResult:
        name = required(call, "name")
        live = self._roster.connections.get(name)
        removed = live.status.tools if live is not None else ()
        if not await self._roster.remove(name):
            return failure("not_found", call.name, f"there is no MCP connection named {name!r}")
        return ToolResult(f"Disconnected {name}.", effects=(RegistryEffect(removed=removed),))


class McpList:
    def __init__(self, roster: Roster) -> None:
        self._roster = roster
        self.spec = ToolSpec(
            "mcp_list",
            "List the MCP connections: state, tools, last error.",
            takes(),
            mutates=False,
            affects_workspace=False,
            access="none",
        )

    async def execute(self, call: ToolCall) -> ToolResult:
        rows = overview(self._roster)
        lines = [f"MCP connections: {len(rows)}", *(map(line, rows) if rows else ["(empty)"])]
        return ToolResult("\n".join(lines), data={"connections": [asdict(row) for row in rows]})
