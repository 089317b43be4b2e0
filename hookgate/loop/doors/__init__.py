"""Who comes in by which channel, how often, and what strangers are told."""
