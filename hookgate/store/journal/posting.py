"""What is on its way to chats."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.journal.values import Row
from hookgate.protocol.values import Chat, Outbound
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.intake import current
from hookgate.store.journal.tables import Tables, id_of

DUE = """
    SELECT id, format, outbound, message, tries FROM outbox
    WHERE number IN (SELECT min(number) FROM outbox WHERE state IS NULL AND channel = ? GROUP BY chat)
    AND again_at <= ? ORDER BY number
"""


NEXT = """
    SELECT id, format, outbound, message, tries FROM outbox
    WHERE state IS NULL AND channel = ? AND chat = ? ORDER BY number LIMIT 1
"""


class Posting:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def post(self, agent: str, outbox: Sequence[Outbound]) -> None:
        def post(tables: Tables) -> None:
            for it in outbox:
                tables.post(tables.kept(current(tables, it.chat.session_key, agent)), [it])

        await self._engine.write(post, barrier=True)

    async def outgoing(self, channel: str) -> tuple[Row, ...]:
        return await self._engine.read(lambda tables: _rows(tables, DUE, channel, tables.clock()))

    async def next_row(self, chat: Chat) -> Row | None:
        found = await self._engine.read(lambda tables: _rows(tables, NEXT, chat.channel, chat.session_key))
        return found[0] if found else None

    async def sent(self, row: str, receipt: str) -> None:
        await self._engine.write(lambda tables: _end(tables, row, "delivered", receipt))

    async def failed(self, row: str, why: str, again_at: float) -> None:
        sql = "UPDATE outbox SET tries = tries + 1, again_at = ?, receipt = ? WHERE id = ? AND state IS NULL"
        await self._engine.write(lambda tables: tables.run(sql, again_at, why, row))

    async def dead(self, row: str, why: str) -> None:
        await self._engine.write(lambda tables: _end(tables, row, "dead", why))


def _rows(tables: Tables, sql: str, *values: object) -> tuple[Row, ...]:
    found = tables.all(sql, *values)
    return tuple(Row(id_, decoded(Outbound, f, body), id_of(m), tries) for id_, f, body, m, tries in found)


def _end(tables: Tables, row: str, state: str, receipt: str) -> None:
    """A row that is not there any more belonged to a conversation that was forgotten."""
    sql = "UPDATE outbox SET state = ?, receipt = ? WHERE id = ? AND state IS NULL RETURNING message"
    for (message,) in tables.all(sql, state, receipt, row):
        if tables.one("SELECT 1 FROM messages WHERE number = ? AND inbound IS NOT NULL", message):
            tables.passed(message, state, receipt if state == "dead" else "")
