"""What is kept: until when, and how much. A piece at a time, so that nobody who writes waits for it."""

from __future__ import annotations

from functools import partial

from hookgate.store.journal.engine import Engine
from hookgate.store.journal.operators.forgetting import drop_old, drop_oldest
from hookgate.store.journal.tables import Tables


class Retention:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def keep(self, *, age_s: float = 0.0, most_bytes: int = 0) -> None:
        """Drop what nobody waits for and is older, then the oldest until no more than that is used. 0: no limit. The
        file keeps its size: its room is used again."""
        if age_s:
            after = 0
            while after := await self._engine.write(partial(_drop_old, age_s, after)):
                pass
        if most_bytes:
            while await self._engine.write(lambda tables: drop_oldest(tables, most_bytes)):
                pass

    async def used_bytes(self) -> int:
        return await self._engine.read(lambda tables: tables.used_bytes())


def is_due(tables: Tables, age_s: float, most_bytes: int) -> bool:
    """Whether there may be something to drop."""
    sql = "SELECT 1 FROM messages WHERE inbound IS NOT NULL AND accepted_at < ?"
    old = bool(age_s) and tables.one(sql, tables.clock() - age_s) is not None
    return old or 0 < most_bytes < tables.used_bytes()


def _drop_old(age_s: float, after: int, tables: Tables) -> int:
    return drop_old(tables, tables.clock() - age_s, after)
