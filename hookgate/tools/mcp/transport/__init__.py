"""How bytes come and go: stdio and streamable HTTP under the MCP SDK, with limits. Registers no tool."""
