"""What is on its way to chats."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Claim, Row, led_by
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.tables import OPEN_ROW, Tables, id_of, number_of

# What stands in its place, and, in the last column, what the platform calls the message that it answers.
LEAVING = """
    SELECT id, format, outbound, message, tries,
    coalesce((SELECT receipt FROM outbox c WHERE c.id = outbox.edits AND c.state = 'delivered'), preview),
    coalesce(
        (SELECT json_extract(CAST(inbound AS TEXT), '$.message_id') FROM messages WHERE number = outbox.message), ''
    ) FROM outbox
"""
DUE = f"""
    {LEAVING}
    WHERE number IN (SELECT min(number) FROM outbox WHERE state IS NULL AND channel = ? GROUP BY chat)
    AND again_at <= ?
"""  # noqa: S608 - constants
PASSED = """
    INSERT INTO passages (message, what, at, why)
    SELECT number, ?, ?, ? FROM messages WHERE number = ? AND inbound IS NOT NULL
"""
IN_ORDER = "ORDER BY number"
NEXT = f"{LEAVING} WHERE state IS NULL AND channel = ? AND chat = ?"


def post_in_chats(tables: Tables, agent: str, outbox: Sequence[Outbound]) -> None:
    """Each belongs to what goes on in its chat with this agent, or whoever it works for, and answers no message."""
    agent, message = led_by(agent)
    sql = "SELECT c.agent FROM messages m JOIN conversations c ON c.number = m.conversation WHERE m.number = ?"
    [agent] = tables.one(sql, number_of(message)) or (agent,)
    for it in outbox:
        tables.post(tables.kept(tables.current(it.chat.session_key, agent)), [it])
        tables.stir(it.chat.session_key, it.chat)


class Posting:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def post(self, agent: str, outbox: Sequence[Outbound]) -> None:
        await self._engine.write(lambda tables: post_in_chats(tables, agent, outbox), barrier=True)

    async def preview(self, claim: Claim, outbound: Outbound) -> Row:
        def preview(tables: Tables) -> Row:
            conversation, message = tables.fenced(claim), number_of(claim.message)
            for id_, _, _, shown in tables.all(OPEN_ROW, conversation, message):
                return Row(id_, outbound, claim.message, preview=shown)
            return Row(tables.new_row(conversation, outbound, message, "open"), outbound, claim.message)

        return await self._engine.write(preview, barrier=True)

    async def previewed(self, row: str, receipt: str) -> None:
        sql = "UPDATE outbox SET preview = ? WHERE id = ?"
        await self._engine.write(lambda tables: tables.run(sql, receipt, row))

    async def outgoing(self, channel: str) -> tuple[Row, ...]:
        def outgoing(tables: Tables) -> tuple[Row, ...]:
            due = tables.all(f"{DUE} {tables.mine('outbox.chat')} {IN_ORDER}", channel, tables.clock())
            return tuple(map(_row, due))

        return await self._engine.read(outgoing)

    async def next_row(self, chat: Chat) -> Row | None:
        return await self._engine.read(lambda tables: next_row(tables, chat.channel, chat.session_key))

    async def sent(self, row: str, receipt: str) -> Row | None:
        def sent(tables: Tables) -> Row | None:
            found = _end(tables, row, "delivered", receipt)
            found = found or tables.all("SELECT channel, chat FROM outbox WHERE id = ?", row)
            return next((it for place in found if (it := next_row(tables, *place))), None)

        return await self._engine.write(sent)

    async def failed(self, row: str, why: str, again_at: float) -> None:
        sql = "UPDATE outbox SET tries = tries + 1, again_at = ?, receipt = ? WHERE id = ? AND state IS NULL"
        await self._engine.write(lambda tables: tables.run(sql, again_at, why, row))

    async def dead(self, row: str, why: str) -> None:
        await self._engine.write(lambda tables: _end(tables, row, "dead", why))

    async def changed(self) -> None:
        await self._engine.changed()


def next_row(tables: Tables, channel: str, chat: str) -> Row | None:
    """Another gateway brings what is not this one's."""
    found = tables.all(f"{NEXT} {tables.mine('outbox.chat')} {IN_ORDER} LIMIT 2", channel, chat)
    return replace(_row(found[0]), last=len(found) == 1) if found else None


def _row(columns: tuple[Any, ...]) -> Row:
    id_, format_, body, message, tries, preview, answers = columns
    outbound = replace(decoded(Outbound, format_, body), in_reply_to=answers)
    return Row(id_, outbound, id_of(message), tries, preview)


def _end(tables: Tables, row: str, state: str, receipt: str) -> list[tuple[str, str]]:
    """Its channel and chat. A row that is not there any more belonged to a conversation that was forgotten."""
    sql = "UPDATE outbox SET state = ?, receipt = ? WHERE id = ? AND state IS NULL RETURNING message, channel, chat"
    ended = tables.all(sql, state, receipt, row)
    for message, *_ in ended:
        tables.run(PASSED, state, tables.clock(), receipt if state == "dead" else "", message)
    if state == "dead":
        # Nobody edits what is not there.
        tables.run("UPDATE outbox SET state = 'dead', receipt = ? WHERE edits = ? AND state IS NULL", receipt, row)
    return [(channel, chat) for _, channel, chat in ended]
