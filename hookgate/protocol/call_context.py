"""For whom a call works: the session whose turn runs, who hears what it prints, what must not be cut in two.

Inherited by every task that is started inside.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar

from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.values import ToolResult

session: ContextVar[str] = ContextVar("session", default="")
"""The key; set round a turn; empty outside one."""


@dataclass(frozen=True, slots=True)
class Work:
    """`chat`: whom the turn answers; None outside a call. `cut_short` takes what a call has come to that is cancelled
    in the middle; it never waits, never raises. `secret_from`: where in a text that ends where it was cut half a
    secret may stand."""

    chat: Chat | None = None
    cut_short: Callable[[ToolResult], None] = lambda _result: None
    secret_from: Callable[[str], int] = len


_NOBODYS = Work()
work: ContextVar[Work] = ContextVar("work", default=_NOBODYS)
"""Set round a call."""


def user() -> str:
    """Whose files a call may take, `CHANNEL:SENDER`; empty outside one."""
    whom = work.get().chat
    return whom.user if whom is not None else ""


def _nobody(_piece: str) -> None:
    pass


progress: ContextVar[Callable[[str], None]] = ContextVar("progress", default=_nobody)
"""Takes a piece of output; set round a call. Never waits, never raises."""
