"""People who were paired or added, and the open codes of strangers; who did what is in the audit."""

from __future__ import annotations

from hookgate.protocol.approval import Voter
from hookgate.protocol.journal.people import Pairing, StoredPerson
from hookgate.store.attempts import MOST_PAIRINGS, MOST_PAIRINGS_OF_ONE
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.tables import Tables

NO_CONVERSATION = 0
NEW_PAIRING = """
    INSERT INTO pairings (code, channel, sender, ends_at) VALUES (?, ?, ?, ?) ON CONFLICT (code) DO NOTHING
"""
KEEP = """
    INSERT INTO people (name, format, body) VALUES (?, ?, ?)
    ON CONFLICT (name) DO UPDATE SET format = excluded.format, body = excluded.body
"""
OPEN = "SELECT code, channel, sender, ends_at FROM pairings WHERE ends_at > ? ORDER BY ends_at, code"


class KnownPeople:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def listed(self) -> tuple[StoredPerson, ...]:
        def listed(tables: Tables) -> tuple[StoredPerson, ...]:
            rows = tables.all("SELECT format, body FROM people ORDER BY name")
            return tuple(decoded(StoredPerson, format_, body) for format_, body in rows)

        return await self._engine.read(listed)

    async def keep(self, person: StoredPerson, by: str) -> None:
        body = encoded(person)
        await self._engine.write(lambda tables: _keep(tables, person, body, by), barrier=True)

    async def remove(self, name: str, by: str) -> bool:
        def remove(tables: Tables) -> bool:
            gone = tables.run("DELETE FROM people WHERE name = ?", name) > 0
            if gone:
                note(tables, NO_CONVERSATION, {"kind": "removed", "by": by}, name=name)
            return gone

        return await self._engine.write(remove, barrier=True)

    async def offer(self, voter: Voter, code: str, ttl_s: float) -> bool:
        def offer(tables: Tables) -> bool:
            now = tables.clock()
            tables.hold(f"pairings of {voter.channel}", alone=True)
            tables.run("DELETE FROM pairings WHERE ends_at <= ?", now)
            of_one = "SELECT count(*) FROM pairings WHERE channel = ? AND sender = ?"
            [its] = tables.one(of_one, voter.channel, voter.id) or (0,)
            [all_] = tables.one("SELECT count(*) FROM pairings WHERE channel = ?", voter.channel) or (0,)
            if its >= MOST_PAIRINGS_OF_ONE or all_ >= MOST_PAIRINGS:
                return False
            row = (code, voter.channel, voter.id, now + ttl_s)
            return tables.run(NEW_PAIRING, *row) > 0

        return await self._engine.write(offer, barrier=True)

    async def pairings(self) -> tuple[Pairing, ...]:
        rows = await self._engine.read(lambda tables: tables.all(OPEN, tables.clock()))
        return tuple(Pairing(code, Voter(channel, sender), until) for code, channel, sender, until in rows)

    async def pair(self, pairing: Pairing, person: StoredPerson, by: str) -> bool:
        body, its = encoded(person), pairing.voter

        def pair(tables: Tables) -> bool:
            held = "SELECT 1 FROM pairings WHERE code = ? AND channel = ? AND sender = ? AND ends_at > ?"
            if not tables.held(held, pairing.code, its.channel, its.id, tables.clock()):
                return False
            tables.run("DELETE FROM pairings WHERE channel = ? AND sender = ?", its.channel, its.id)
            _keep(tables, person, body, by)
            return True

        return await self._engine.write(pair, barrier=True)


def _keep(tables: Tables, person: StoredPerson, body: bytes, by: str) -> None:
    tables.run(KEEP, person.name, FORMAT, body)
    ids = " ".join(map(str, person.ids))
    said = {"kind": "person", "by": by, "roles": list(person.roles)}
    note(tables, NO_CONVERSATION, said, name=person.name, ids=ids)
