"""The control socket of a running hookgate: its server, its client, and the JSON-RPC between them."""
