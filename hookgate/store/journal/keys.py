"""Keys that programs show, of each its hash alone; who made and revoked them is in the audit."""

from __future__ import annotations

from hookgate.protocol.journal.keys import Key
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.tables import Tables

NO_CONVERSATION = 0
LISTED = "SELECT hash, channel, name, made_by, made_at FROM keys ORDER BY channel, name"
NEW_KEY = """
    INSERT INTO keys (hash, channel, name, made_by, made_at) VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING
"""


def read_keys(tables: Tables) -> tuple[Key, ...]:
    return tuple(Key(*row) for row in tables.all(LISTED)) if tables.has("keys") else ()


class KnownKeys:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def listed(self) -> tuple[Key, ...]:
        return await self._engine.read(read_keys)

    async def keep(self, key: Key) -> bool:
        def keep(tables: Tables) -> bool:
            kept = tables.run(NEW_KEY, key.hash, key.channel, key.name, key.by, key.at) > 0
            if kept:
                said = {"kind": "key", "by": key.by, "channel": key.channel, "hash": key.hash}
                note(tables, NO_CONVERSATION, said, name=key.name)
            return kept

        return await self._engine.write(keep, barrier=True)

    async def revoke(self, key: Key, by: str) -> bool:
        def revoke(tables: Tables) -> bool:
            gone = tables.run("DELETE FROM keys WHERE hash = ?", key.hash) > 0
            if gone:
                said = {"kind": "key_revoked", "by": by, "channel": key.channel, "hash": key.hash}
                note(tables, NO_CONVERSATION, said, name=key.name)
            return gone

        return await self._engine.write(revoke, barrier=True)
