"""Discord: its gateway over a WebSocket, and its API over HTTP."""
