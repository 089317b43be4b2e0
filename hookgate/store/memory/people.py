"""People who were paired or added, and the open codes of strangers."""

from __future__ import annotations

from hookgate.protocol.approval import Voter
from hookgate.protocol.journal.people import Pairing, StoredPerson
from hookgate.store.attempts import MOST_PAIRINGS, MOST_PAIRINGS_OF_ONE
from hookgate.store.memory.tables import Tables


class KnownPeople:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def listed(self) -> tuple[StoredPerson, ...]:
        return tuple(self._tables.people[name] for name in sorted(self._tables.people))

    async def keep(self, person: StoredPerson, by: str) -> None:
        self._tables.people[person.name] = person

    async def remove(self, name: str, by: str) -> bool:
        return self._tables.people.pop(name, None) is not None

    async def offer(self, voter: Voter, code: str, ttl_s: float) -> bool:
        open_ = self._open()
        its = [it for it in open_ if it.voter == voter]
        here = [it for it in open_ if it.voter.channel == voter.channel]
        known = any(it.code == code for it in open_)
        if known or len(its) >= MOST_PAIRINGS_OF_ONE or len(here) >= MOST_PAIRINGS:
            return False
        self._tables.pairings = [*open_, Pairing(code, voter, self._tables.clock() + ttl_s)]
        return True

    async def pairings(self) -> tuple[Pairing, ...]:
        return tuple(sorted(self._open(), key=lambda it: (it.until, it.code)))

    async def pair(self, pairing: Pairing, person: StoredPerson, by: str) -> bool:
        open_ = self._open()
        if not any((it.code, it.voter) == (pairing.code, pairing.voter) for it in open_):
            return False
        self._tables.pairings = [it for it in open_ if it.voter != pairing.voter]
        self._tables.people[person.name] = person
        return True

    def _open(self) -> list[Pairing]:
        now = self._tables.clock()
        return [it for it in self._tables.pairings if it.until > now]
