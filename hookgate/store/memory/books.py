"""What operators ask, and what only one gateway may hold."""

from __future__ import annotations

from hookgate.protocol.journal.values import Conversation, Passage, SessionRow
from hookgate.store.memory.tables import Tables, Thread


class Books:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def where(self, message: str) -> tuple[Passage, ...]:
        row = self._tables.messages.get(message)
        return () if row is None else tuple(row.passages)

    async def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(self._row(thread) for thread in self._tables.threads.values())

    def _row(self, thread: Thread) -> SessionRow:
        messages = [it for it in self._tables.messages.values() if it.conversation == thread.conversation]
        unfinished = sum(it.outcome is None for it in messages)
        last = max((it.passages[-1].at for it in messages), default=0.0)
        return SessionRow(thread.conversation, len(thread.live), unfinished, last)

    async def forget(self, conversation: Conversation) -> None:
        tables, thread = self._tables, self._tables.thread(conversation)
        # First of all: whoever still works on it writes nothing any more.
        thread.claim = None
        thread.live, thread.calls, thread.summary = [], {}, None
        for id_, row in list(tables.messages.items()):
            if row.conversation == conversation:
                tables.void(id_, "the conversation was forgotten")
                del tables.messages[id_]
                tables.unfinished.pop(id_, None)
        tables.outbox = {id_: it for id_, it in tables.outbox.items() if not id_.startswith(f"{conversation.id}#")}
        tables.ring()

    async def changed(self) -> None:
        await self._tables.changed()


class Holds:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def hold(self, name: str, by: str, lease_s: float) -> bool:
        now = self._tables.clock()
        holder, until = self._tables.held.get(name, (by, 0.0))
        if holder != by and until > now:
            return False
        self._tables.held[name] = (by, now + lease_s)
        return True

    async def state(self, channel: str, name: str) -> str:
        return self._tables.states.get((channel, name), "")

    async def keep_state(self, channel: str, name: str, value: str) -> None:
        self._tables.states[channel, name] = value
