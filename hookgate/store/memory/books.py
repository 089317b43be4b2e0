"""What operators ask, and what only one gateway may hold."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.protocol.chat import Chat
from hookgate.protocol.journal.values import Conversation
from hookgate.protocol.journal.views import Overview, SessionRow, Whereabouts
from hookgate.store.attempts import MOST_FOUND
from hookgate.store.memory.letters import dead_letters, drop, outgoing, retry
from hookgate.store.memory.rows import MessageRow, RequestRow, Thread
from hookgate.store.memory.tables import Tables


class Books:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def where(self, message: str) -> tuple[Whereabouts, ...]:
        tables = self._tables
        rows = [tables.messages[message]] if message in tables.messages else []
        if not rows:
            beginning = (it for id_, it in tables.messages.items() if id_.startswith(message))
            rows = list(beginning) if message else tables.waiting()
        return tuple(self._found(row) for row in sorted(rows, key=lambda it: int(it.id[1:]))[:MOST_FOUND])

    def _found(self, row: MessageRow) -> Whereabouts:
        tables = self._tables
        thread, why = tables.threads.get(row.conversation.id), ""
        if row.outcome is not None and any(it.row.in_reply_to == row.id for it in tables.outbox.values()):
            state = "sending"
        elif row.outcome is not None:
            state, why = Whereabouts.came_to(row.outcome, row.passages)
        elif any(it.request.message == row.id and is_open(it, tables.clock()) for it in tables.requests.values()):
            state = "waiting"
        else:
            claim = thread.claim if thread is not None else None
            taken = row.joined_at or (claim is not None and claim.message == row.id)
            state = "running" if taken else "queued"
        return Whereabouts(row.id, row.conversation, row.inbound.text, state, tuple(row.passages), why)

    async def sessions(self) -> tuple[SessionRow, ...]:
        return tuple(self._row(thread) for thread in self._tables.threads.values())

    def _row(self, thread: Thread) -> SessionRow:
        messages = [it for it in self._tables.messages.values() if it.conversation == thread.conversation]
        unfinished = sum(it.outcome is None for it in messages)
        last = max((it.passages[-1].at for it in messages), default=0.0)
        return SessionRow(thread.conversation, len(thread.live), unfinished, last)

    async def overview(self) -> Overview:
        tables, letters = self._tables, dead_letters(self._tables)
        stored = sum(bool(it.written) for it in tables.threads.values())
        waiting = len(tables.waiting())
        return Overview(stored, waiting, outgoing(tables), len(letters), letters[:MOST_FOUND])

    async def retry(self, letter: str, by: str) -> Chat | None:
        return retry(self._tables, letter)

    async def drop(self, letter: str, by: str) -> bool:
        return drop(self._tables, letter)

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
                tables.previews.pop(id_, None)
        tables.outbox = {id_: it for id_, it in tables.outbox.items() if not id_.startswith(f"{conversation.id}#")}
        tables.ring()


def is_open(row: RequestRow, now: float) -> bool:
    return row.state == "open" and not 0 < row.request.expires_at <= now


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

    async def change_state(self, channel: str, name: str, change: Callable[[str], str]) -> str:
        value = self._tables.states[channel, name] = change(self._tables.states.get((channel, name), ""))
        return value
