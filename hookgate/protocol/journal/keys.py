"""Keys that programs show: how the journal keeps them, and what it can be asked about them."""

from __future__ import annotations

from typing import Protocol

from hookgate.protocol.dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Key:
    """Whoever shows it is NAME in the channel, or at the surface, that it is for. `hash`: SHA-256 of what is shown,
    in hex; `by`: who made it, and `at` when, in seconds of the wall clock."""

    hash: str
    channel: str
    name: str
    by: str
    at: float


class KnownKeys(Protocol):
    """For whoever answers programs. Each change leaves a record in the audit chain, with `by`."""

    async def listed(self) -> tuple[Key, ...]: ...

    async def keep(self, key: Key) -> bool:
        """False where that name has a key for that channel already."""
        ...

    async def revoke(self, key: Key, by: str) -> bool: ...
