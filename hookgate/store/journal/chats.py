"""Conversations as people see them again: listed, searched, read with what went to their chats."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.codec import decode
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.values import Conversation, Entry, Row
from hookgate.protocol.journal.views import ChatRow, Exchange
from hookgate.store.journal.encoding import decoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.tables import Tables, escaped, id_of
from hookgate.store.journal.transcripts import read_entry

TEXT = "json_extract(CAST({} AS TEXT), '$.text')"
LISTED = f"""
    SELECT session, agent, generation, {TEXT.format("m.inbound")},
        max(last_at, (SELECT max(accepted_at) FROM messages WHERE conversation = c.number)) AS at
    FROM conversations c JOIN messages m ON m.number = (
        SELECT min(number) FROM messages WHERE conversation = c.number AND inbound IS NOT NULL AND kind = 'message'
    )
    WHERE session >= ?1 AND session < ?4 AND (?2 = '' OR EXISTS (
        SELECT 1 FROM messages WHERE conversation = c.number AND inbound IS NOT NULL
        AND {TEXT.format("inbound")} LIKE ?2 ESCAPE '!'
    ) OR EXISTS (
        SELECT 1 FROM outbox WHERE conversation = c.number AND {TEXT.format("outbound")} LIKE ?2 ESCAPE '!'
    ))
    ORDER BY at DESC LIMIT ?3
"""  # noqa: S608 - constants
# What was taken back for another one is left out; what a hook kept out is not, since people are told of that.
MESSAGES = """
    SELECT number, accepted_at, first, (begun <> 0 AND kind = 'message') OR joined_at <> 0, outcome, format, inbound
    FROM messages
    WHERE conversation = ? AND inbound IS NOT NULL AND number >= ?
    AND NOT (first < 0 AND coalesce(outcome, '') IN ('answered', 'dropped'))
    ORDER BY number DESC LIMIT ?
"""
ENTRIES = """
    SELECT number, at, upto, format, body FROM entries
    WHERE conversation = ? AND number >= ? AND upto = 0 AND gone = 0 ORDER BY number
"""
ROWS = """
    SELECT message, at, id, tries, format, outbound FROM outbox
    WHERE conversation = ? AND coalesce(state, '') <> 'open' AND (message >= ? OR (message = 0 AND at >= ?))
    ORDER BY number
"""
LATER = 100
"""More messages than wait in a chat."""


# By what can be forgotten of them: that is indexed, and once it is gone nothing is told.
JUDGED = """
    SELECT a.body, t.text FROM audit_texts t JOIN audit a ON a.number = t.record
    WHERE t.conversation = ? AND t.name = 'details' ORDER BY t.record DESC LIMIT ?
"""


class Chats:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def listed(self, sessions: str, search: str = "", most: int = 200) -> tuple[ChatRow, ...]:
        return await self._engine.read(lambda tables: read_chats(tables, sessions, search, most))

    async def said(self, conversation: Conversation, most: int = 200) -> tuple[Exchange, ...]:
        return await self._engine.read(lambda tables: _said(tables, tables.found(conversation), 0, most))

    async def exchange(self, row: str) -> Exchange | None:
        def exchange(tables: Tables) -> Exchange | None:
            sql = "SELECT conversation, message FROM outbox WHERE id = ? AND message > 0"
            for conversation, message in tables.all(sql, row):
                # What came after it says where its turn ended.
                said = _said(tables, conversation, message, LATER)
                return next((it for it in said if it.message == id_of(message)), None)
            return None

        return await self._engine.read(exchange)

    async def judged(self, conversation: Conversation, most: int = 400) -> Mapping[str, tuple[Judgement, ...]]:
        return await self._engine.read(lambda tables: _judged(tables, tables.found(conversation), most))


def read_chats(tables: Tables, sessions: str, search: str = "", most: int = 200) -> tuple[ChatRow, ...]:
    words = escaped(search)
    rows = tables.all(LISTED, sessions, f"%{words}%" if search else "", most, f"{sessions}\U0010ffff")
    return tuple(ChatRow(Conversation(s, a, g), text, at) for s, a, g, text, at in rows)


def _judged(tables: Tables, conversation: int, most: int) -> dict[str, tuple[Judgement, ...]]:
    found: dict[str, tuple[Judgement, ...]] = {}
    for body, details in tables.all(JUDGED, conversation, most):
        record, beside = decode(body), decode(details)
        if record["kind"] == "call":
            reasons = beside.get("reasons") or [""] * len(record["hooks"])
            pairs = zip(record["hooks"], reasons, strict=True)
            found.setdefault(record["call"], tuple(Judgement(**said, reason=why) for said, why in pairs))
    return found


def _said(tables: Tables, conversation: int, since: int, most: int) -> tuple[Exchange, ...]:
    """The last of what has been accepted since then."""
    messages = tables.all(MESSAGES, conversation, since, most)[::-1]
    if not messages:
        return ()
    entries = _entries(
        tables, conversation, sorted((first, number) for number, _, first, *_ in messages if first > 0)
    )
    rows, beside = _rows(tables, conversation, messages[0][:2])
    exchanges = [
        Exchange(
            *(id_of(number), at, decoded(Inbound, format_, inbound), bool(begun), outcome),
            *(tuple(entries[number]), tuple(rows[number])),
        )
        for number, at, _, begun, outcome, format_, inbound in messages
    ]
    alone = (Exchange("", at, None, True, None, rows=((at, row),)) for at, row in beside)
    return tuple(sorted((*exchanges, *alone), key=lambda it: it.at))


def _entries(
    tables: Tables, conversation: int, begins: list[tuple[int, int]]
) -> defaultdict[int, list[tuple[float, Entry]]]:
    """By the message whose turn wrote them; `begins`: with which entry each began."""
    found = defaultdict[int, list[tuple[float, Entry]]](list)
    for number, at, *body in tables.all(ENTRIES, conversation, begins[0][0]) if begins else ():
        message = begins[bisect_right(begins, (number, 1 << 62)) - 1][1]
        found[message].append((at, read_entry(number, at, *body)))
    return found


def _rows(
    tables: Tables, conversation: int, since: tuple[int, float]
) -> tuple[defaultdict[int, list[tuple[float, Row]]], list[tuple[float, Row]]]:
    found, beside = defaultdict[int, list[tuple[float, Row]]](list), list[tuple[float, Row]]()
    for message, at, id_, tries, format_, body in tables.all(ROWS, conversation, *since):
        row = Row(id_, decoded(Outbound, format_, body), id_of(message), tries)
        (found[message] if message else beside).append((at, row))
    return found, beside
