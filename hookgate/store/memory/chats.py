"""Conversations as people see them again, as far as they are kept: what has left for its chat is not."""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Mapping

from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.values import Conversation, Entry, Row
from hookgate.protocol.journal.views import ChatRow, Exchange
from hookgate.store.memory.rows import MessageRow
from hookgate.store.memory.tables import Tables


class Chats:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def listed(self, sessions: str, search: str = "", most: int = 200) -> tuple[ChatRow, ...]:
        begun: dict[str, list[MessageRow]] = {}
        for row in self._tables.messages.values():
            if row.kind == "message" and row.conversation.session.startswith(sessions):
                begun.setdefault(row.conversation.id, []).append(row)
        listed = (
            ChatRow(rows[0].conversation, rows[0].inbound.text, max(it.passages[-1].at for it in rows))
            for rows in begun.values()
            if not search or any(search.lower() in text.lower() for text in self._texts(rows))
        )
        return tuple(sorted(listed, key=lambda it: -it.last_at)[:most])

    def _texts(self, rows: list[MessageRow]) -> list[str]:
        outbox = (
            it.row.outbound for it in self._tables.outbox.values() if it.row.in_reply_to in {r.id for r in rows}
        )
        return [*(it.inbound.text for it in rows), *(it.text for it in outbox)]

    async def judged(self, conversation: Conversation, most: int = 400) -> Mapping[str, tuple[Judgement, ...]]:
        """There is no chain in memory."""
        return {}

    async def said(self, conversation: Conversation, most: int = 200) -> tuple[Exchange, ...]:
        messages = [
            row for row in self._tables.messages.values() if row.conversation == conversation and not _replaced(row)
        ][-most:]
        begins = sorted((row.first, row.id) for row in messages if row.first > 0)
        thread = self._tables.threads.get(conversation.id)
        entries = defaultdict[str, list[tuple[float, Entry]]](list)
        for entry in thread.live if thread is not None else ():
            at = bisect_right(begins, (entry.number, "~"))
            if at and not entry.upto:
                entries[begins[at - 1][1]].append((0.0, entry))
        rows = defaultdict[str, list[tuple[float, Row]]](list)
        for it in self._tables.outbox.values():
            if it.row.id.startswith(f"{conversation.id}#") and not it.open:
                rows[it.row.in_reply_to].append((0.0, it.row))
        exchanges = (_exchange(row, entries[row.id], rows[row.id]) for row in messages)
        alone = (Exchange("", at, None, True, None, rows=((at, row),)) for at, row in rows[""])
        return (*exchanges, *alone)

    async def exchange(self, row: str) -> Exchange | None:
        stored = self._tables.outbox.get(row)
        answers = self._tables.messages.get(stored.row.in_reply_to) if stored is not None else None
        if answers is None:
            return None
        return next((it for it in await self.said(answers.conversation) if it.message == answers.id), None)


def _replaced(row: MessageRow) -> bool:
    """Taken back for another one, where no hook has refused it."""
    return row.first < 0 and row.outcome in ("answered", "dropped")


def _exchange(row: MessageRow, entries: list[tuple[float, Entry]], rows: list[tuple[float, Row]]) -> Exchange:
    at, ended = row.passages[0].at, row.passages[-1].at
    return Exchange(
        *(row.id, at, row.inbound, row.begun or bool(row.joined_at), row.outcome),
        *(tuple((ended, entry) for _, entry in entries), tuple((ended, it) for _, it in rows)),
    )
