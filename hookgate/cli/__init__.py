"""The commands: the only place that puts concrete parts together."""
