"""Channels as a configuration has them: opened, what people see there, and what they ask of the gateway."""
