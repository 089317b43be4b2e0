"""People whom the configuration does not name, and strangers who wait to be let in, as the journal keeps them."""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.protocol.approval import Voter


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
