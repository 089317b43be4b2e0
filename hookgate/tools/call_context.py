"""For whom a tool works: the session whose turn runs, who hears what a call prints, what must not be cut in two."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from hookgate.protocol.values import ToolResult

session: ContextVar[str] = ContextVar("session", default="")
"""The key; set round a turn, inherited by every task that the turn starts; empty outside one."""


user: ContextVar[str] = ContextVar("user", default="")
"""Whom the turn answers, `CHANNEL:SENDER`; set round a call."""


secret_from: ContextVar[Callable[[str], int]] = ContextVar("secret_from", default=len)
"""Where in a text that ends where it was cut half a secret may stand; set round a call."""


def _nobody(_piece: str) -> None:
    pass


def _lost(_result: ToolResult) -> None:
    pass


cut_short: ContextVar[Callable[[ToolResult], None]] = ContextVar("cut_short", default=_lost)
"""Takes what a call has come to that is cancelled in the middle; set round a call. Never waits, never raises."""


progress: ContextVar[Callable[[str], None]] = ContextVar("progress", default=_nobody)
"""Takes a piece of output; set round a call. Never waits, never raises."""
