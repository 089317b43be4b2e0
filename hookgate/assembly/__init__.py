"""A configuration becomes open parts: the only place that puts concrete parts together."""
