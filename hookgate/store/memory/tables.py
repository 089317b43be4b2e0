"""The journal in memory, and its steps. Every change is made at once, between two awaits: that is its transaction."""

from __future__ import annotations

import hashlib
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import trio

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.journal.decisions import StoredGrant
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.journal.people import Pairing, StoredPerson
from hookgate.protocol.journal.values import (
    AnswerKey,
    Claim,
    Conversation,
    Draft,
    Entry,
    Fenced,
    Outcome,
    Row,
    led_by,
)
from hookgate.protocol.journal.views import Passage
from hookgate.store.attempts import ENDS, UNSAID
from hookgate.store.memory.rows import MessageRow, OutboxRow, RequestRow, Thread

KEPT = 1000
"""Of messages that have ended, rows that were given up and requests that are decided: for whoever asks what became
of them."""
KEYS_S = 7 * 24 * 3600.0
"""Longer than any platform repeats a message."""


class Tables:
    """What is over is kept for a while and no longer: messages that have ended, requests that are decided, keys."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.messages: dict[str, MessageRow] = {}
        self.unfinished: dict[str, MessageRow] = {}
        self.ended: deque[str] = deque()
        # Hashes alone, with when they came: they outlive the messages, so that a late repeat stays known.
        self.keys: dict[str, tuple[str, float]] = {}
        self.offsets: dict[tuple[str, str], str] = {}
        self.generations: dict[str, int] = {}
        self.threads: dict[str, Thread] = {}
        self.requests: dict[str, RequestRow] = {}
        self.grants: dict[str, StoredGrant] = {}
        self.outbox: dict[str, OutboxRow] = {}
        self.letters: dict[str, OutboxRow] = {}
        self.previews: dict[str, OutboxRow] = {}
        self.answers: dict[AnswerKey, Answer] = {}
        self.held: dict[str, tuple[str, float]] = {}
        self.states: dict[tuple[str, str], str] = {}
        self.people: dict[str, StoredPerson] = {}
        self.pairings: list[Pairing] = []
        self.shown_keys: dict[tuple[str, str], Key] = {}
        self.numbers = 0
        self.fences = 0
        self._changed = trio.Event()

    # --- reading ---

    def thread(self, conversation: Conversation) -> Thread:
        return self.threads.setdefault(conversation.id, Thread(conversation))

    def current(self, session: str, agent: str) -> Conversation:
        """The one that is going on there."""
        return Conversation(session, agent, self.generations.get(session, 0))

    def fenced(self, claim: Claim) -> Thread:
        """The conversation, for a write under this claim. Raises Fenced."""
        thread = self.threads.get(claim.conversation.id)
        if thread is None or thread.claim is None or thread.fence != claim.fence:
            raise Fenced(claim.conversation.id)
        return thread

    def waiting(self) -> list[MessageRow]:
        """Messages that no turn has taken in: what a crash left comes first, then in the order of arrival."""
        rows = (it for it in self.unfinished.values() if it.kind == "message" and not it.joined_at)
        return sorted(rows, key=lambda it: not it.begun)

    def claimed(self, thread: Thread) -> bool:
        return thread.claim is not None and thread.claim.until > self.clock()

    # --- writing ---

    def write(self, thread: Thread, drafts: Iterable[Draft]) -> tuple[Entry, ...]:
        now = self.clock()
        entries = [draft.numbered(number, now) for number, draft in enumerate(drafts, thread.written + 1)]
        thread.written += len(entries)
        thread.live.extend(entries)
        thread.summary = next((it for it in reversed(entries) if it.upto), thread.summary)
        thread.moved = True
        row = self.messages.get(thread.claim.message) if thread.claim is not None else None
        if row is not None and entries:
            row.first = row.first if row.first > 0 else entries[0].number
        return tuple(entries)

    def let_go(self, thread: Thread) -> None:
        """Nobody has it any more. What nobody can ask for goes: an earlier generation, what has nothing in it."""
        thread.claim = None
        its = thread.conversation
        if not (thread.written or thread.rows) or (self.is_over(its) and its not in self._worked_on()):
            del self.threads[its.id]

    def is_over(self, conversation: Conversation) -> bool:
        return conversation.generation < self.generations.get(conversation.session, 0)

    def _worked_on(self) -> set[Conversation]:
        return {row.conversation for row in self.unfinished.values()}

    def trim(self, thread: Thread, first: int) -> None:
        """A turn is over: its calls are answered, what is summed up is said shorter, and neither is taken back."""
        thread.calls.clear()
        thread.handed.clear()
        summary = thread.summary
        if summary is not None and thread.live[0] is not summary:
            thread.live = [summary, *(it for it in thread.live if it.number >= summary.upto and not it.upto)]
        for index in range(len(thread.live) - 1, -1, -1):
            entry = thread.live[index]
            if entry.number < first:
                break
            thread.live[index] = replace(entry, calls=()) if entry.calls else entry

    def post(self, thread: Thread, outbox: Sequence[Outbound], in_reply_to: str = "") -> list[OutboxRow]:
        """The first fills the preview of what answers the message, if there is one. What a task says that the message
        has led to stands where that was said."""
        row = self.messages.get(in_reply_to)
        if row is not None and row.conversation != thread.conversation:
            home = self.thread(row.conversation)
            return [self.new_row(home, it, in_reply_to) for it in outbox]
        filled = self.previews.pop(in_reply_to, None) if outbox else None
        if filled is None:
            return [self.new_row(thread, it, in_reply_to) for it in outbox]
        filled.row, filled.open = replace(filled.row, outbound=self._answering(outbox[0], in_reply_to)), False
        return [filled, *(self.new_row(thread, it, in_reply_to) for it in outbox[1:])]

    def next_row(self, chat: Chat) -> Row | None:
        key = chat.session_key
        rows = (it for it in self.outbox.values() if not it.open and it.row.outbound.chat.session_key == key)
        found = [it.leaving for it in islice(rows, 2)]
        return replace(found[0], last=len(found) == 1) if found else None

    def post_in_chats(self, agent: str, outbox: Sequence[Outbound], edits: OutboxRow | None = None) -> None:
        """Each belongs to what is going on in its chat with this agent, or whoever it works for, and answers no
        message."""
        agent, message = led_by(agent)
        led = self.messages.get(message)
        agent = agent if led is None else led.conversation.agent
        for it in outbox:
            row = self.new_row(self.thread(self.current(it.chat.session_key, agent)), it, "")
            row.edits = edits
            if edits is None and it.request in self.requests:
                self.requests[it.request].cards.append(row)

    def new_row(self, thread: Thread, outbound: Outbound, in_reply_to: str, *, open_: bool = False) -> OutboxRow:
        thread.rows += 1
        row = Row(f"{thread.conversation.id}#{thread.rows}", self._answering(outbound, in_reply_to), in_reply_to)
        stored = self.outbox[row.id] = OutboxRow(row, open_, at=self.clock())
        return stored

    def edit_cards(self, asked: RequestRow) -> None:
        """Something has become of it: whoever has been shown it sees that, once what is on its way is there."""
        for card in [it for it in asked.cards if not it.given_up]:
            self.post_in_chats(asked.request.conversation.agent, [card.row.outbound], card)

    def _answering(self, outbound: Outbound, message: str) -> Outbound:
        its = self.messages.get(message)
        return outbound if its is None else replace(outbound, in_reply_to=its.inbound.message_id)

    def end(self, message: MessageRow, outcome: Outcome, why: str = "") -> None:
        """The first outcome stands. Requests that it leaves behind are void."""
        self.void(message.id, ENDS[outcome])
        if message.outcome is not None:
            return
        message.outcome = outcome
        self.passed(message, outcome, why)
        if (preview := self.previews.get(message.id)) is not None:
            # Nobody fills it any more: no chat is left with half of something.
            unsaid = Outbound(preview.row.outbound.chat, UNSAID[outcome], kind="notice")
            self.post(self.thread(message.conversation), [unsaid], message.id)
        self.unfinished.pop(message.id, None)
        thread = self.threads.get(message.conversation.id)
        if thread is not None and thread.claim is None and self.is_over(message.conversation):
            self.let_go(thread)
        self.ended.append(message.id)
        while len(self.ended) > KEPT:
            self.messages.pop(self.ended.popleft(), None)

    def passed(self, message: MessageRow, what: str, why: str = "") -> None:
        message.passages.append(Passage(what, self.clock(), why))

    def void(self, message: str, why: str) -> None:
        """The requests of a message that is over."""
        for row in self.requests.values():
            if row.request.message == message and row.state in ("open", "approved"):
                row.state, row.why = "void", why
                self.edit_cards(row)

    def accepted(self, digest: str, message: str) -> None:
        self.keys[digest] = message, self.clock()
        while self.clock() - next(iter(self.keys.values()))[1] > KEYS_S:
            del self.keys[next(iter(self.keys))]

    def requested(self, row: RequestRow) -> None:
        self.requests[row.request.id] = row
        over = [id_ for id_, it in self.requests.items() if it.state not in ("open", "approved")]
        for id_ in over[: max(0, len(over) - KEPT)]:
            del self.requests[id_]

    # --- hints ---

    def ring(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        await self._changed.wait()


def known_as(channel: str, account: str, key: str) -> str:
    return hashlib.sha256("\0".join((channel, account, key)).encode()).hexdigest()
