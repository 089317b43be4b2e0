"""People whom the configuration does not name, and strangers who wait to be let in: how the journal keeps them, and
what it can be asked about them."""

from __future__ import annotations

import re
from typing import Protocol

from hookgate.protocol.approval import Voter
from hookgate.protocol.dataclasses import dataclass

NAME = re.compile(r"[A-Za-z0-9_.-]{1,64}")
"""Of people, roles and keys."""


@dataclass(frozen=True, slots=True)
class StoredPerson:
    """Somebody who was let in. `by`: who paired or added them, and `at` when, in seconds of the wall clock."""

    name: str
    ids: tuple[Voter, ...]
    roles: tuple[str, ...]
    by: str
    at: float


@dataclass(frozen=True, slots=True)
class Pairing:
    """The code that a stranger was given, until it is used or over."""

    code: str
    voter: Voter
    until: float


class KnownPeople(Protocol):
    """For doors: who was let in while hookgate ran. Each change leaves a record in the audit chain, with `by`."""

    async def listed(self) -> tuple[StoredPerson, ...]: ...

    async def keep(self, person: StoredPerson, by: str) -> None:
        """Instead of whoever had that name."""
        ...

    async def remove(self, name: str, by: str) -> bool: ...

    async def offer(self, voter: Voter, code: str, ttl_s: float) -> bool:
        """Keep an open code; False where this stranger, or this channel, has too many already, or it is taken."""
        ...

    async def pairings(self) -> tuple[Pairing, ...]:
        """The codes that are open now, the oldest first."""
        ...

    async def pair(self, pairing: Pairing, person: StoredPerson, by: str) -> bool:
        """Compare and set: all codes of that stranger are used up, and the person is kept. False: it is not open."""
        ...
