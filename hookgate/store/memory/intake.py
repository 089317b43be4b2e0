"""Accepting messages, and ending those that no turn answers."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Accepted, Arrival, ArrivalKind, Conversation, Outcome, Unfinished
from hookgate.store.memory.rows import MessageRow
from hookgate.store.memory.tables import Tables, known_as


class Intake:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def accept(self, arrival: Arrival) -> Accepted:
        tables, chat = self._tables, arrival.inbound.chat
        digest = known_as(chat.channel, arrival.account, arrival.key) if arrival.key else ""
        if arrival.offset:
            tables.offsets[chat.channel, arrival.place] = arrival.offset
        if digest in tables.keys:
            id_, _ = tables.keys[digest]
            stored = tables.messages.get(id_)
            return Accepted(id_, self._conversation(arrival) if stored is None else stored.conversation, known=True)
        tables.numbers += 1
        row = MessageRow(f"M{tables.numbers}", self._conversation(arrival), arrival.inbound, arrival.kind)
        meant = self._take_effect(arrival, row.conversation)
        tables.messages[row.id] = tables.unfinished[row.id] = row
        if digest:
            tables.accepted(digest, row.id)
        tables.passed(row, "accepted")
        tables.ring()
        return Accepted(row.id, self._conversation(arrival), meant=tuple(it.id for it in meant))

    async def conversation(self, session: str, agent: str) -> Conversation:
        return self._tables.current(session, agent)

    async def unfinished(self, kind: ArrivalKind = "message", session: str = "") -> tuple[Unfinished, ...]:
        tables, rows = self._tables, [it for it in self._tables.unfinished.values() if it.kind == kind]
        if kind == "message":
            rows = [it for it in tables.waiting() if not tables.claimed(tables.thread(it.conversation))]
        return tuple(
            Unfinished(Accepted(it.id, it.conversation, known=True), it.inbound, begun=True)
            for it in rows
            if session in ("", it.conversation.session)
        )

    async def begin(self, message: str) -> bool:
        """Nobody else takes anything in."""
        return False

    async def settle(self, message: str, outcome: Outcome, outbox: Sequence[Outbound] = (), why: str = "") -> None:
        row = self._tables.unfinished.get(message)
        if row is not None:
            self._tables.post(self._tables.thread(row.conversation), outbox, message)
            self._tables.end(row, outcome, why)
            self._tables.ring()

    async def refuse(self, arrival: Arrival, why: str, outbox: Sequence[Outbound] = ()) -> Accepted:
        accepted = await self.accept(arrival)
        if not accepted.known:
            await self.settle(accepted.id, "refused", outbox, why)
        return accepted

    async def lead(self, message: str, arrival: Arrival) -> Accepted | None:
        row = self._tables.unfinished.get(message)
        if row is None:
            return None
        self._tables.end(row, "answered")
        return await self.accept(replace(arrival, key=""))

    async def offset(self, channel: str, account: str) -> str:
        return self._tables.offsets.get((channel, account), "")

    def _conversation(self, arrival: Arrival) -> Conversation:
        return self._tables.current(arrival.inbound.chat.session_key, arrival.agent)

    def _take_effect(self, arrival: Arrival, conversation: Conversation) -> list[MessageRow]:
        """A stop means the message that is being answered, else the next; a new conversation means all of them."""
        if arrival.effect == "none":
            return []
        tables = self._tables
        open_rows = (it for it in tables.unfinished.values() if it.kind == "message")
        unfinished = [it for it in open_rows if it.conversation.session == conversation.session]
        if arrival.effect == "new":
            tables.generations[conversation.session] = conversation.generation + 1
            tables.grants = {id_: it for id_, it in tables.grants.items() if it.session != conversation.session}
            old = tables.threads.get(conversation.id)
            if old is not None and old.claim is None:
                tables.let_go(old)
            meant = unfinished
        else:
            thread = tables.thread(conversation)
            running = thread.claim if tables.claimed(thread) else None
            meant = [it for it in unfinished if running is not None and it.id == running.message] or unfinished[:1]
        for it in meant:
            it.stopped = True
        return meant
