"""What is on its way to chats."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Claim, Row
from hookgate.store.memory.rows import OutboxRow
from hookgate.store.memory.tables import KEPT, Tables


class Posting:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def post(self, agent: str, outbox: Sequence[Outbound]) -> None:
        self._tables.post_in_chats(agent, outbox)
        self._tables.ring()

    async def preview(self, claim: Claim, outbound: Outbound) -> Row:
        thread = self._tables.fenced(claim)
        previews = self._tables.previews
        if claim.message not in previews:
            previews[claim.message] = self._tables.new_row(thread, outbound, claim.message, open_=True)
        return previews[claim.message].row

    async def previewed(self, row: str, receipt: str) -> None:
        stored = self._tables.outbox.get(row)
        if stored is not None:
            stored.row = replace(stored.row, preview=receipt)

    async def outgoing(self, channel: str) -> tuple[Row, ...]:
        first: dict[str, OutboxRow] = {}
        for it in self._tables.outbox.values():
            chat = it.row.outbound.chat
            if chat.channel == channel and not it.open:
                first.setdefault(chat.session_key, it)
        now = self._tables.clock()
        return tuple(it.leaving for it in first.values() if it.again_at <= now)

    async def next_row(self, chat: Chat) -> Row | None:
        return self._tables.next_row(chat)

    async def sent(self, row: str, receipt: str) -> Row | None:
        stored = self._tables.outbox.get(row)
        self._end(row, "delivered", receipt=receipt)
        return None if stored is None else self._tables.next_row(stored.row.outbound.chat)

    async def failed(self, row: str, why: str, again_at: float) -> None:
        stored = self._tables.outbox.get(row)
        if stored is not None:
            stored.row, stored.again_at = replace(stored.row, tries=stored.row.tries + 1), again_at
            stored.failed = why

    async def dead(self, row: str, why: str) -> None:
        stored, letters = self._tables.outbox.get(row), self._tables.letters
        self._end(row, "dead", why)
        if stored is not None and stored.edits is None:
            letters[row] = stored
            while len(letters) > KEPT:
                del letters[next(iter(letters))]
        # Nobody edits what is not there.
        rows = self._tables.outbox
        for id_ in [id_ for id_, it in rows.items() if it.edits is not None and it.edits.row.id == row]:
            del rows[id_]

    async def changed(self) -> None:
        await self._tables.changed()

    def _end(self, row: str, what: str, why: str = "", receipt: str = "") -> None:
        """The first end stands."""
        stored = self._tables.outbox.pop(row, None)
        if stored is None:
            return
        stored.given_up, stored.receipt = why, receipt
        message = self._tables.messages.get(stored.row.in_reply_to)
        if message is not None:
            self._tables.passed(message, what, why)
        self._tables.ring()
