"""A tool call in a line: what it is about."""

from __future__ import annotations

from hookgate.protocol.values import JsonObject

TELLING = ("command", "path", "pattern", "url", "name", "query", "task")
"""Arguments that say what a call is about."""


def about(arguments: JsonObject) -> str:
    """As it was given; empty where none of them tells."""
    return next((it for name in TELLING if isinstance(it := arguments.get(name), str)), "")
