"""zot's RPC as values: the commands that a client sends, the events and responses that it reads."""
