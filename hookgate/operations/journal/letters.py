"""What a gateway has given up, and may be told to try again or to drop."""

from __future__ import annotations

from hookgate.loop.gateway import Gateway
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.journal.cluster import CHANGED, Note
from hookgate.protocol.journal.views import DeadLetter


async def list_letters(gateway: Gateway) -> tuple[DeadLetter, ...]:
    """The last dead letters, the newest first."""
    return (await gateway.journal.books.overview()).letters


async def retry_letter(gateway: Gateway, letter: str, by: str) -> bool:
    """It is tried as if for the first time; `by` stands in the audit chain."""
    chat = await gateway.journal.books.retry(letter, by)
    if chat is None:
        raise OperationRefused(f"there is no dead letter {letter!r}")
    gateway.delivery.wake(chat)
    gateway.taking_up.look_soon()
    # It may be another gateway's to bring.
    gateway.journal.cluster.tell(Note(CHANGED))
    return True


async def drop_letter(gateway: Gateway, letter: str, by: str) -> bool:
    """Nobody hears of it any more; `by` stands in the audit chain."""
    if not await gateway.journal.books.drop(letter, by):
        raise OperationRefused(f"there is no dead letter {letter!r}")
    return True
