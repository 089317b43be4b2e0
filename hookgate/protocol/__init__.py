"""Words and bytes: values, framing, JSON-RPC, hook payloads. No I/O, no trio, no clock, no logging."""
