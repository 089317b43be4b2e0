"""Accepting messages, and ending those that no turn answers."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.journal.values import Accepted, Arrival, ArrivalKind, Conversation, Outcome, Unfinished
from hookgate.store.journal.claims import running
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.tables import Tables, id_of, known_as, number_of

GOING_ON = """
    SELECT number, generation FROM conversations WHERE session = ?1 AND agent = ?2
    AND generation = coalesce((SELECT generation FROM generations WHERE session = ?1), 0)
"""
NEW_MESSAGE = """
    INSERT INTO messages (conversation, digest, kind, accepted_at, format, inbound)
    VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (digest) DO NOTHING
"""
"""Nothing where it is known. A chat waits for it, and RETURNING would make it half as long again."""

WAITING = """
    SELECT m.number, m.format, m.inbound, c.session, c.agent, c.generation
    FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0
"""
NOT_AT_WORK = "AND (c.claimed_by IS NULL OR c.claimed_until <= ?)"
IN_TURN = "ORDER BY m.begun DESC, m.number"

UNSETTLED = """
    SELECT m.number, m.format, m.inbound, c.session, c.agent, c.generation
    FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind <> 'message' AND m.kind = ?
"""

KEEP_OFFSET = """
    INSERT INTO offsets (channel, account, "offset") VALUES (?, ?, ?)
    ON CONFLICT (channel, account) DO UPDATE SET "offset" = excluded."offset"
"""
BEGIN_ANEW = """
    INSERT INTO generations (session, generation) VALUES (?, ?)
    ON CONFLICT (session) DO UPDATE SET generation = excluded.generation
"""


class Intake:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def accept(self, arrival: Arrival) -> Accepted:
        inbound = encoded(arrival.inbound)
        key = known_as(arrival.inbound.chat.channel, arrival.account, arrival.key) if arrival.key else None
        return await self._engine.write(lambda tables: _accept(tables, arrival, key, inbound), barrier=True)

    async def settle(self, message: str, outcome: Outcome, outbox: Sequence[Outbound] = (), why: str = "") -> None:
        def settle(tables: Tables) -> None:
            number = number_of(message)
            row = tables.held("SELECT conversation FROM messages WHERE number = ? AND outcome IS NULL", number)
            if row is not None:
                tables.post(row[0], outbox, number)
                tables.end(number, outcome, why)

        await self._engine.write(settle, barrier=True)

    async def refuse(self, arrival: Arrival, why: str, outbox: Sequence[Outbound] = ()) -> Accepted:
        inbound = encoded(arrival.inbound)
        key = known_as(arrival.inbound.chat.channel, arrival.account, arrival.key) if arrival.key else None

        def refuse(tables: Tables) -> Accepted:
            accepted = _accept(tables, arrival, key, inbound)
            if not accepted.known:
                number = number_of(accepted.id)
                tables.post(tables.found(accepted.conversation), outbox, number)
                tables.end(number, "refused", why)
            return accepted

        return await self._engine.write(refuse, barrier=True)

    async def lead(self, message: str, arrival: Arrival) -> Accepted | None:
        number, inbound = number_of(message), encoded(arrival.inbound)

        def lead(tables: Tables) -> Accepted | None:
            return _accept(tables, arrival, None, inbound) if tables.end(number, "answered") else None

        return await self._engine.write(lead, barrier=True)

    async def conversation(self, session: str, agent: str) -> Conversation:
        return await self._engine.read(lambda tables: tables.current(session, agent))

    async def unfinished(self, kind: ArrivalKind = "message", session: str = "") -> tuple[Unfinished, ...]:
        def unfinished(tables: Tables) -> tuple[Unfinished, ...]:
            only, values = ("AND c.session = ?", (session,)) if session else ("", ())
            mine = f"{tables.mine('c.session')} {only}"
            if kind == "message":
                # What comes to a conversation that is at work may join its turn.
                free, now = ("", ()) if session else (NOT_AT_WORK, (tables.clock(),))
                rows = tables.all(f"{WAITING} {free} {mine} {IN_TURN}", *now, *values)
            else:
                rows = tables.all(f"{UNSETTLED} {mine} ORDER BY m.number", kind, *values)
            return tuple(
                Unfinished(Accepted(id_of(number), Conversation(*its), known=True), decoded(Inbound, format_, text))
                for number, format_, text, *its in rows
            )

        return await self._engine.read(unfinished)

    async def offset(self, channel: str, account: str) -> str:
        sql = 'SELECT "offset" FROM offsets WHERE channel = ? AND account = ?'
        row = await self._engine.read(lambda tables: tables.one(sql, channel, account))
        return row[0] if row else ""


def _accept(tables: Tables, arrival: Arrival, key: bytes | None, inbound: bytes) -> Accepted:
    # Whoever has an account upstream does not wait here: any gateway will do.
    chat, here = arrival.inbound.chat, not arrival.account
    place, row = (chat.session_key, arrival.agent), (key, arrival.kind, tables.clock(), FORMAT, inbound)
    added = tables.add_at_once(place, row, here=here) if arrival.effect == "none" else None
    if added is None:
        tables.hold(chat.session_key, alone=arrival.effect != "none")
    elsewhere = tables.own(chat.session_key, here=here) != tables.me
    if arrival.offset:
        tables.run(KEEP_OFFSET, chat.channel, arrival.place, arrival.offset)
    number, at, generation = added or (0, *(tables.one(GOING_ON, *place) or (0, 0)))
    number = tables.add(NEW_MESSAGE, at, *row) if at and not number else number
    if not number:
        stored = tables.one("SELECT number, conversation FROM messages WHERE digest = ?", key)
        if stored is not None:
            return Accepted(id_of(stored[0]), tables.conversation(stored[1]), known=True)
        begun = tables.current(*place)
        at, generation = tables.kept(begun), begun.generation
        number = tables.add(NEW_MESSAGE, at, *row)
    conversation = Conversation(chat.session_key, arrival.agent, generation)
    if arrival.effect == "none":
        tables.stir(chat.session_key)
        return Accepted(id_of(number), conversation, elsewhere=elsewhere, behind=tables.unanswered(at, number))
    meant = _take_effect(tables, arrival, (number, at), conversation)
    conversation = tables.current(chat.session_key, arrival.agent)
    tables.stir(chat.session_key)
    return Accepted(id_of(number), conversation, meant=tuple(map(id_of, meant)), elsewhere=elsewhere)


def _take_effect(tables: Tables, arrival: Arrival, place: tuple[int, int], conversation: Conversation) -> list[int]:
    """A stop means the message that is being answered, else the next; a new conversation means all of them. `place`:
    its own number, and its conversation's."""
    number, at = place
    unfinished = tables.all(
        "SELECT m.number FROM conversations c JOIN messages m ON m.conversation = c.number "
        "WHERE c.session = ? AND m.outcome IS NULL AND m.kind = 'message' AND m.number <> ? "
        "ORDER BY m.number",
        conversation.session,
        number,
    )
    meant = [it for (it,) in unfinished]
    if arrival.effect == "new":
        tables.run(BEGIN_ANEW, conversation.session, conversation.generation + 1)
        tables.run("DELETE FROM grants WHERE session = ?", conversation.session)
    else:
        at_work = running(tables, at)
        meant = [it for it in meant if it == at_work] or meant[:1]
    for it in meant:
        tables.run("UPDATE messages SET stopped = 1 WHERE number = ?", it)
    return meant
