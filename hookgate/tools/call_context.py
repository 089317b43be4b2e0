"""For whom a tool works: the session whose turn runs, who hears what a call prints, what must not be cut in two."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from hookgate.protocol.chat import Chat
from hookgate.protocol.values import ToolResult

session: ContextVar[str] = ContextVar("session", default="")
"""The key; set round a turn, inherited by every task that the turn starts; empty outside one."""


chat: ContextVar[Chat | None] = ContextVar("chat", default=None)
"""Whom the turn answers; set round a call."""


def user() -> str:
    """Whose files a call may take, `CHANNEL:SENDER`; empty outside one."""
    whom = chat.get()
    return whom.user if whom is not None else ""


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
