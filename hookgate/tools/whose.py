"""For whom a tool works: the session whose turn runs, and who hears what a running call prints. Knows neither."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

session: ContextVar[str] = ContextVar("session", default="")
"""The key; set round a turn, inherited by every task that the turn starts; empty outside one."""


def _nobody(_piece: str) -> None:
    pass


progress: ContextVar[Callable[[str], None]] = ContextVar("progress", default=_nobody)
"""Takes a piece of output; set round a call. Never waits, never raises."""
