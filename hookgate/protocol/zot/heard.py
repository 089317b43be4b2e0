"""Which of hookgate's own events extensions hear of at all. Knows no frame: what becomes of them is `happened`'s."""

from __future__ import annotations

from hookgate.protocol.events.inside import (
    CallDecided,
    CallEnded,
    CallProposed,
    CompactionBegan,
    CompactionEnded,
    PersonAsked,
    ReplyEnded,
    SessionBegan,
    SessionEnded,
    StepBegan,
)
from hookgate.protocol.events.payloads import Payload, TurnStart

HEARD: tuple[type[Payload], ...] = (
    SessionBegan,
    SessionEnded,
    TurnStart,
    StepBegan,
    ReplyEnded,
    CallProposed,
    PersonAsked,
    CallDecided,
    CallEnded,
    CompactionBegan,
    CompactionEnded,
)
"""What an extension's mount observes; which of it an extension is sent is decided by its `subscribe`."""
OBSERVED: tuple[str, ...] = tuple(payload.kind for payload in HEARD)
