"""A tool call in a line: what it is about."""

from __future__ import annotations

from hookgate.protocol.values import JsonObject

TELLING = ("command", "path", "pattern", "url", "name", "query", "task")
"""Arguments that say what a call is about."""


def about(arguments: JsonObject) -> str:
    """As it was given: of the arguments that tell, else of all, the first text; empty where there is none."""
    given = (*(arguments.get(name) for name in TELLING), *arguments.values())
    return next((it for it in given if isinstance(it, str)), "")
