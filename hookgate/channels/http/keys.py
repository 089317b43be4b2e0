"""Keys: what a program shows instead of logging in. Made at random, shown once, kept as hashes in the journal, so
that a thief of the file gets in nowhere. Knows no request.

A key is found by its hash in a table: how long that takes says nothing of any other key.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Generator
from contextlib import contextmanager
from time import time

import trio

from hookgate.protocol.approval import OPERATOR
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.journal.people import NAME

PREFIX = "hg_"
"""By which people, and what looks for secrets, know one."""
KEYS = "keys"
"""What gateways tell each other of, where one makes a key or revokes one."""
MOST = 1000
RESERVED = frozenset({OPERATOR.id})
"""Under this id the machine's own operator is in the books, whose messages would be this key's."""


class NoKey(Exception):
    """Nothing was changed; the text says why, for whoever asked."""


class Keys:
    """`changed`: called whenever one was made or revoked. `clock`: of the wall, for the books alone."""

    def __init__(self, journal: Journal, clock: Callable[[], float] = time) -> None:
        self.changed: list[Callable[[], None]] = []
        self._store, self._cluster, self._clock = journal.keys, journal.cluster, clock
        self._by_hash: dict[str, Key] = {}
        self._one = trio.Lock()
        self._cluster.follow(KEYS, self._load_again)

    async def load(self) -> None:
        """Those that the journal knows. Raises StoreFailed."""
        self._by_hash = {key.hash: key for key in await self._store.listed()}
        for changed in tuple(self.changed):
            changed()

    async def _load_again(self) -> None:
        """Another gateway has made one, or revoked one."""
        async with self._one:
            await self.load()

    def listed(self) -> tuple[Key, ...]:
        """By channel and name."""
        return tuple(self._by_hash.values())

    def holder(self, shown: str) -> Key | None:
        """Nobody has one of a reserved name, though the journal may know it."""
        key = self._by_hash.get(_hash(shown))
        return None if key is None or key.name in RESERVED else key

    def holds(self, key: Key) -> bool:
        """Whether it has not been revoked."""
        return key.hash in self._by_hash

    @contextmanager
    def held(self, key: Key) -> Generator[trio.CancelScope]:
        """What runs inside is cancelled once the key is revoked: an answer that is still being written, say."""

        def look() -> None:
            if not self.holds(key):
                scope.cancel()

        with trio.CancelScope() as scope:
            self.changed.append(look)
            look()
            try:
                yield scope
            finally:
                self.changed.remove(look)

    def check(self, channel: str, name: str) -> None:
        """Raises NoKey where there cannot be a new one of that name."""
        if not NAME.fullmatch(name):
            raise NoKey(f"{name[:64]!r} cannot be a name: letters, digits, _ . and - only, up to 64 of them.")
        if name in RESERVED:
            raise NoKey(f"{name} is who works at the machine itself: choose another name.")
        if any((it.channel, it.name) == (channel, name) for it in self._by_hash.values()):
            raise NoKey(f"{name} has a key for {channel} already: revoke that one, or choose another name.")
        if len(self._by_hash) >= MOST:
            raise NoKey(f"There are {MOST} keys already: revoke some.")

    async def add(self, channel: str, name: str, by: str) -> tuple[Key, str]:
        """The key, and what shows it, which nobody can be told again. Raises NoKey and StoreFailed."""
        async with self._one:
            self.check(channel, name)
            shown = PREFIX + secrets.token_urlsafe(32)
            key = Key(_hash(shown), channel, name, by, self._clock())
            if not await self._store.keep(key):
                raise NoKey(f"{name} has a key for {channel} already.")
            await self.load()
            self._cluster.altered(KEYS)
            return key, shown

    async def revoke(self, key: Key, by: str) -> None:
        """Nobody is let in by it from now on, and what runs for it ends. Raises StoreFailed."""
        async with self._one:
            await self._store.revoke(key, by)
            await self.load()
            self._cluster.altered(KEYS)


def _hash(shown: str) -> str:
    return hashlib.sha256(shown.encode("utf-8", "surrogatepass")).hexdigest()
