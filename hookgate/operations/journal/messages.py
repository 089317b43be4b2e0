"""Where messages of a running gateway are."""

from __future__ import annotations

from hookgate.operations.refused import OperationRefused
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.views import Whereabouts


async def where(journal: Journal, message: str = "") -> tuple[Whereabouts, ...]:
    """Where a message is, and the way it came: this one, or those whose ids begin so; without an id what is
    unfinished."""
    found = await journal.books.where(whole_id(message))
    if message and not found:
        raise OperationRefused(f"there is no message {message!r}")
    return found


def whole_id(typed: str) -> str:
    """Of a message: people type its number alone."""
    return f"M{typed}" if typed.isdecimal() else typed
