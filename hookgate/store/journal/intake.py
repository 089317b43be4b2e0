"""Accepting messages, and ending those that no turn answers."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.journal.values import Accepted, Arrival, Conversation, Outcome, Unfinished
from hookgate.protocol.values import Inbound, Outbound
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.tables import Tables, id_of, known_as, number_of

NEW_MESSAGE = """
    INSERT INTO messages (number, conversation, kind, accepted_at, format, inbound) VALUES (?, ?, ?, ?, ?, ?)
"""

WAITING = """
    SELECT m.number, m.format, m.inbound, c.session, c.agent, c.generation
    FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0
    AND (c.claimed_by IS NULL OR c.claimed_until <= ?) ORDER BY m.begun DESC, m.number
"""


class Intake:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def accept(self, arrival: Arrival) -> Accepted:
        inbound = encoded(arrival.inbound)
        key = known_as(arrival.inbound.chat.channel, arrival.account, arrival.key) if arrival.key else None
        return await self._engine.write(lambda tables: _accept(tables, arrival, key, inbound), barrier=True)

    async def settle(self, message: str, outcome: Outcome, outbox: Sequence[Outbound] = ()) -> None:
        def settle(tables: Tables) -> None:
            number = number_of(message)
            row = tables.one("SELECT conversation FROM messages WHERE number = ?", number)
            if row is not None and tables.end(number, outcome):
                tables.post(row[0], outbox, number)

        await self._engine.write(settle, barrier=True)

    async def conversation(self, session: str, agent: str) -> Conversation:
        sql = "SELECT generation FROM generations WHERE session = ?"
        row = await self._engine.read(lambda tables: tables.one(sql, session))
        return Conversation(session, agent, row[0] if row else 0)

    async def unfinished(self) -> tuple[Unfinished, ...]:
        def unfinished(tables: Tables) -> tuple[Unfinished, ...]:
            rows = tables.all(WAITING, tables.clock())
            return tuple(
                Unfinished(Accepted(id_of(number), Conversation(*its), known=True), decoded(Inbound, format_, text))
                for number, format_, text, *its in rows
            )

        return await self._engine.read(unfinished)

    async def offset(self, channel: str, account: str) -> str:
        sql = "SELECT offset FROM offsets WHERE channel = ? AND account = ?"
        row = await self._engine.read(lambda tables: tables.one(sql, channel, account))
        return row[0] if row else ""


def _accept(tables: Tables, arrival: Arrival, key: bytes | None, inbound: bytes) -> Accepted:
    chat, now = arrival.inbound.chat, tables.clock()
    if arrival.offset:
        sql = "INSERT OR REPLACE INTO offsets VALUES (?, ?, ?)"
        tables.run(sql, chat.channel, arrival.account, arrival.offset)
    added = tables.connection.execute("INSERT OR IGNORE INTO keys (digest, at) VALUES (?, ?)", (key, now))
    if not added.rowcount:
        return _known(tables, arrival, key)
    number = added.lastrowid or 0
    at, conversation = _current(tables, arrival)
    meant = _take_effect(tables, arrival, at, conversation)
    tables.run(NEW_MESSAGE, number, at, arrival.kind, now, FORMAT, inbound)
    if arrival.effect == "new":
        _at, conversation = _current(tables, arrival)
    return Accepted(id_of(number), conversation, meant=tuple(map(id_of, meant)))


def _known(tables: Tables, arrival: Arrival, key: bytes | None) -> Accepted:
    [number] = tables.one("SELECT number FROM keys WHERE digest = ?", key) or (0,)
    row = tables.one("SELECT conversation FROM messages WHERE number = ?", number)
    conversation = _current(tables, arrival)[1] if row is None else tables.conversation(row[0])
    return Accepted(id_of(number), conversation, known=True)


def _current(tables: Tables, arrival: Arrival) -> tuple[int, Conversation]:
    """The conversation that the chat is in now, with its number."""
    session = arrival.inbound.chat.session_key
    row = tables.one(
        "SELECT number, generation FROM conversations WHERE session = ?1 AND agent = ?2 AND generation = "
        "coalesce((SELECT generation FROM generations WHERE session = ?1), 0)",
        session,
        arrival.agent,
    )
    if row is not None:
        return row[0], Conversation(session, arrival.agent, row[1])
    [generation] = tables.one("SELECT generation FROM generations WHERE session = ?", session) or (0,)
    conversation = Conversation(session, arrival.agent, generation)
    return tables.kept(conversation), conversation


def _take_effect(tables: Tables, arrival: Arrival, at: int, conversation: Conversation) -> list[int]:
    """A stop means the message that is being answered, else the next; a new conversation means all of them."""
    if arrival.effect == "none":
        return []
    unfinished = tables.all(
        "SELECT m.number FROM conversations c JOIN messages m ON m.conversation = c.number "
        "WHERE c.session = ? AND m.outcome IS NULL AND m.kind = 'message' ORDER BY m.number",
        conversation.session,
    )
    meant = [number for (number,) in unfinished]
    if arrival.effect == "new":
        sql = "INSERT OR REPLACE INTO generations VALUES (?, ?)"
        tables.run(sql, conversation.session, conversation.generation + 1)
    else:
        sql = "SELECT claimed_message FROM conversations WHERE number = ? AND claimed_by IS NOT NULL"
        running = tables.one(sql, at)
        meant = [it for it in meant if running is not None and it == running[0]] or meant[:1]
    tables.connection.executemany("UPDATE messages SET stopped = 1 WHERE number = ?", [(it,) for it in meant])
    return meant
