"""Accepting messages, and ending those that no turn answers."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Accepted, Arrival, ArrivalKind, Conversation, Outcome, Unfinished
from hookgate.store.journal.claims import running
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.statements import Added, Coming
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
    SELECT m.number, m.begun, m.format, m.inbound, c.session, c.agent, c.generation
    FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind = 'message' AND m.joined_at = 0
"""
NOT_AT_WORK = "AND (c.claimed_by IS NULL OR c.claimed_until <= ?)"
IN_TURN = "ORDER BY m.begun DESC, m.number"

UNSETTLED = """
    SELECT m.number, m.begun, m.format, m.inbound, c.session, c.agent, c.generation
    FROM messages m JOIN conversations c ON c.number = m.conversation
    WHERE m.outcome IS NULL AND m.kind <> 'message' AND m.kind = ?
"""

BEGIN = "UPDATE messages SET begun = 1 WHERE number = ? AND begun = 0 AND outcome IS NULL"

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
        self._together = engine.together(_accept_together)

    async def accept(self, arrival: Arrival) -> Accepted:
        coming = _coming(arrival)
        if arrival.effect == "none" and (accepted := await self._together((arrival, coming))):
            return accepted
        return await self._engine.write(lambda tables: _accept(tables, arrival, coming), barrier=True)

    async def settle(self, message: str, outcome: Outcome, outbox: Sequence[Outbound] = (), why: str = "") -> None:
        def settle(tables: Tables) -> None:
            number = number_of(message)
            row = tables.held("SELECT conversation FROM messages WHERE number = ? AND outcome IS NULL", number)
            if row is not None:
                tables.post(row[0], outbox, number)
                tables.end(number, outcome, why)

        await self._engine.write(settle, barrier=True)

    async def refuse(self, arrival: Arrival, why: str, outbox: Sequence[Outbound] = ()) -> Accepted:
        coming = _coming(arrival)

        def refuse(tables: Tables) -> Accepted:
            accepted = _accept(tables, arrival, coming)
            if not accepted.known:
                number = number_of(accepted.id)
                tables.post(tables.found(accepted.conversation), outbox, number)
                tables.end(number, "refused", why)
            return accepted

        return await self._engine.write(refuse, barrier=True)

    async def lead(self, message: str, arrival: Arrival) -> Accepted | None:
        number, coming = number_of(message), _coming(replace(arrival, key=""))

        def lead(tables: Tables) -> Accepted | None:
            return _accept(tables, arrival, coming) if tables.end(number, "answered") else None

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
                Unfinished(
                    Accepted(id_of(number), Conversation(*its), known=True),
                    decoded(Inbound, format_, text),
                    bool(begun),
                )
                for number, begun, format_, text, *its in rows
            )

        return await self._engine.read(unfinished)

    async def begin(self, message: str) -> bool:
        return await self._engine.write(lambda tables: tables.run(BEGIN, number_of(message)) > 0, barrier=True)

    async def offset(self, channel: str, account: str) -> str:
        sql = 'SELECT "offset" FROM offsets WHERE channel = ? AND account = ?'
        row = await self._engine.read(lambda tables: tables.one(sql, channel, account))
        return row[0] if row else ""


def _coming(arrival: Arrival) -> Coming:
    chat, account = arrival.inbound.chat, arrival.account
    key = known_as(chat.channel, account, arrival.key) if arrival.key else None
    # Whoever has an account upstream does not wait here: any gateway will do.
    return Coming(chat.session_key, arrival.agent, key, arrival.kind, encoded(arrival.inbound), here=not account)


def _accept_together(tables: Tables, them: Sequence[tuple[Arrival, Coming]]) -> list[Accepted | None]:
    """None: it is not stored, and takes a step of its own."""
    added = tables.accept_together([coming for _, coming in them])
    if not added:
        return [_accept(tables, *it) for it in them]
    return [_entered(tables, *it, one) if one.number else None for it, one in zip(them, added, strict=True)]


def _accept(tables: Tables, arrival: Arrival, coming: Coming) -> Accepted:
    tables.hold(coming.session, alone=arrival.effect != "none")
    tables.own(coming.session, here=coming.here)
    place, row = (coming.session, coming.agent), (coming.key, coming.kind, tables.clock(), FORMAT, coming.body)
    at, generation = tables.one(GOING_ON, *place) or (0, 0)
    number = tables.add(NEW_MESSAGE, at, *row) if at else 0
    if not number:
        stored = tables.one("SELECT number, conversation FROM messages WHERE digest = ?", coming.key)
        if stored is not None:
            _keep_offset(tables, arrival)
            return Accepted(id_of(stored[0]), tables.conversation(stored[1]), known=True)
        begun = tables.current(*place)
        at, generation = tables.kept(begun), begun.generation
        number = tables.add(NEW_MESSAGE, at, *row)
    behind = arrival.effect == "none" and tables.unanswered(at, number)
    return _entered(tables, arrival, coming, Added(number, at, generation, behind))


def _entered(tables: Tables, arrival: Arrival, coming: Coming, added: Added) -> Accepted:
    """What a message that is stored leads to at once."""
    _keep_offset(tables, arrival)
    elsewhere = tables.own(coming.session) != tables.me
    if coming.kind == "command" and not elsewhere:
        tables.run(BEGIN, added.number)
    conversation, meant = Conversation(coming.session, coming.agent, added.generation), list[int]()
    if arrival.effect != "none":
        meant = _take_effect(tables, arrival, (added.number, added.conversation), conversation)
        conversation = tables.current(coming.session, coming.agent)
    tables.stir(coming.session)
    ids = tuple(map(id_of, meant))
    return Accepted(id_of(added.number), conversation, meant=ids, elsewhere=elsewhere, behind=added.behind)


def _keep_offset(tables: Tables, arrival: Arrival) -> None:
    if arrival.offset:
        tables.run(KEEP_OFFSET, arrival.inbound.chat.channel, arrival.place, arrival.offset)


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
