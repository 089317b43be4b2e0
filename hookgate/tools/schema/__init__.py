"""JSON Schemas of tools: what a stranger's may cost, what one says, checking arguments against it."""
