"""zot's RPC on stdin and stdout."""
