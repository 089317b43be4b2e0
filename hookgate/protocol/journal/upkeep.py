"""What operators ask of a journal in a file, beyond its books: messages found by what is known of them, and the
record of what operators have done.

Times are seconds of the wall clock.
"""

from __future__ import annotations

from typing import Protocol

from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.views import Whereabouts

LOOKED_AT = 20_000
"""Messages that a search looks at, the newest; what is unfinished is among them however old it is."""


@dataclass(frozen=True, slots=True)
class Leaving:
    """The next thing that a chat is to have of what answers a message. `tries`: how often its channel has failed at
    it, `why` the last time; `again_at`: not before that."""

    channel: str
    tries: int
    again_at: float
    why: str


@dataclass(frozen=True, slots=True)
class FoundMessage:
    """`sender`: who said it, as the platform knows them. `leaving` None: nothing of it is on its way."""

    whereabouts: Whereabouts
    sender: str
    leaving: Leaving | None = None


class Upkeep(Protocol):
    async def find(self, words: str, most: int) -> tuple[FoundMessage, ...]:
        """Messages with this id, the platform's own too, or with this in their text, chat or sender: the one with the
        id first, then what is unfinished, then the newest. No words: all of them."""
        ...

    async def note(self, by: str, did: str, about: str) -> None:
        """A record of the audit chain; `about` is what can be forgotten of it, with its conversation where it is the
        key of one."""
        ...
