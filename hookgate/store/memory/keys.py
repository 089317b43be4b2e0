"""Keys that programs show."""

from __future__ import annotations

from hookgate.protocol.journal.keys import Key
from hookgate.store.memory.tables import Tables


class KnownKeys:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def listed(self) -> tuple[Key, ...]:
        keys = self._tables.shown_keys
        return tuple(keys[place] for place in sorted(keys))

    async def keep(self, key: Key) -> bool:
        return self._tables.shown_keys.setdefault((key.channel, key.name), key) is key

    async def revoke(self, key: Key, by: str) -> bool:
        held = self._tables.shown_keys.get((key.channel, key.name)) == key
        if held:
            del self._tables.shown_keys[key.channel, key.name]
        return held
