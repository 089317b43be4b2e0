"""`hookgate mcp`: servers, and what they have been approved for."""
