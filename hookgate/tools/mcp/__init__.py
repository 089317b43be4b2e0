"""Tools of MCP servers: connections that live and die on their own, and what hookgate makes of what they send."""
