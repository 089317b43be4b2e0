"""Whether the audit chain of a running gateway is what was written; how far it is signed is part of its status."""

from __future__ import annotations

from time import time

import trio

from hookgate.protocol.dataclasses import dataclass
from hookgate.store.journal.audit.anchors import State, verify
from hookgate.store.places import JournalPlace, beside, open_look_at


@dataclass(frozen=True)
class Verified:
    """As `hookgate audit verify` says it; `at`: when, in seconds of the wall clock."""

    state: State
    records: int
    anchored: int
    why: str
    at: float


async def verify_audit(journal: JournalPlace, one: trio.CapacityLimiter) -> Verified:
    """The whole chain, as long as that takes, beside whoever writes it. `one`: how many may read it all at once.
    Raises StoreFailed."""
    return await trio.to_thread.run_sync(_verified, journal, limiter=one)


def _verified(journal: JournalPlace) -> Verified:
    with open_look_at(journal) as tables:
        its = verify(beside(journal), tables)
    return Verified(its.state, its.records, its.anchored, its.why, time())
