"""What operators look for among messages, and what they leave in the audit chain."""

from __future__ import annotations

from hookgate.protocol.journal.upkeep import LOOKED_AT, FoundMessage, Leaving
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.operators.whereabouts import find_message
from hookgate.store.journal.tables import Tables, escaped, number_of

MEMBER = "json_extract(CAST(m.inbound AS TEXT), '$.{}')"
LOOKED = """
    SELECT number FROM messages WHERE outcome IS NULL AND kind = 'message' AND joined_at = 0
    UNION SELECT number FROM messages WHERE number > (SELECT max(number) FROM messages) - ?4
    UNION SELECT ?3
"""
FOUND = f"""
    SELECT m.number, {MEMBER.format("chat.sender")} FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.number IN ({LOOKED}) AND m.inbound IS NOT NULL AND (
        ?2 = '' OR m.number = ?3 OR c.session LIKE ?2 ESCAPE '!'
        OR {MEMBER.format("text")} LIKE ?2 ESCAPE '!'
        OR {MEMBER.format("chat.sender")} LIKE ?2 ESCAPE '!' OR {MEMBER.format("message_id")} = ?1
    )
    ORDER BY m.number = ?3 DESC, m.outcome IS NULL AND m.kind = 'message' DESC, m.number DESC LIMIT ?5
"""  # noqa: S608 - constants
LEAVING = """
    SELECT channel, tries, again_at, receipt FROM outbox WHERE state IS NULL AND message = ? AND conversation = (
        SELECT conversation FROM messages WHERE number = ?
    ) ORDER BY number LIMIT 1
"""


class Upkeep:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def find(self, words: str, most: int) -> tuple[FoundMessage, ...]:
        return await self._engine.read(lambda tables: find_by_words(tables, words, most))

    async def note(self, by: str, did: str, about: str) -> None:
        def record(tables: Tables) -> None:
            sql = "SELECT number FROM conversations WHERE session = ? ORDER BY number DESC LIMIT 1"
            [conversation] = tables.one(sql, about) or (0,)
            note(tables, conversation, {"kind": "operator", "by": by, "did": did}, about=about)

        await self._engine.write(record, barrier=True)


def find_by_words(tables: Tables, words: str, most: int) -> tuple[FoundMessage, ...]:
    """As the journal's `find`."""
    number = number_of(words) or number_of(f"M{words}")
    pattern = f"%{escaped(words)}%" if words else ""
    rows = tables.all(FOUND, words, pattern, number, LOOKED_AT if words else most, most)
    return tuple(FoundMessage(find_message(tables, it), sender or "", _leaving(tables, it)) for it, sender in rows)


def _leaving(tables: Tables, number: int) -> Leaving | None:
    row = tables.one(LEAVING, number, number)
    return Leaving(*row) if row else None
