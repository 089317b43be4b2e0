"""A conformance run against somebody's hook: what is asked of it, and what is said about its answers."""
