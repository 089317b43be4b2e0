"""What the journal in memory holds. Every change is made at once, between two awaits: that is its transaction."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

import trio

from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.journal.values import (
    ArrivalKind,
    Asked,
    CallState,
    Claim,
    Conversation,
    Draft,
    Entry,
    Fenced,
    Outcome,
    Passage,
    RequestState,
    Row,
    StoredGrant,
    StoredRequest,
    Vote,
)
from hookgate.protocol.values import Inbound, Outbound


@dataclass
class MessageRow:
    """An accepted message. `joined_at`: the number of its entry in a turn that another message began. `begun`: it has
    been claimed before. `attempts`: claims that died without a new step."""

    id: str
    conversation: Conversation
    inbound: Inbound
    kind: ArrivalKind
    outcome: Outcome | None = None
    joined_at: int = 0
    stopped: bool = False
    begun: bool = False
    attempts: int = 0
    passages: list[Passage] = field(default_factory=list[Passage])


@dataclass
class Thread:
    """One stored conversation. `fence` counts claims; `live` are the entries that count, `written` all there were."""

    conversation: Conversation
    live: list[Entry] = field(default_factory=list[Entry])
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    written: int = 0
    rows: int = 0
    fence: int = 0
    claim: Claim | None = None
    moved: bool = False
    """Whether the claim in force has stored a step."""


@dataclass
class RequestRow:
    request: StoredRequest
    state: RequestState = "open"
    votes: list[Vote] = field(default_factory=list[Vote])
    why: str = ""


@dataclass
class OutboxRow:
    row: Row
    again_at: float = 0.0
    done: bool = False
    receipt: str = ""


class Tables:
    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.messages: dict[str, MessageRow] = {}
        # Hashes alone: they outlive the messages, so that a late repeat stays known.
        self.keys: dict[str, str] = {}
        self.offsets: dict[tuple[str, str], str] = {}
        self.generations: dict[str, int] = {}
        self.threads: dict[str, Thread] = {}
        self.requests: dict[str, RequestRow] = {}
        self.grants: dict[str, StoredGrant] = {}
        self.outbox: dict[str, OutboxRow] = {}
        self.answers: dict[Asked, Answer] = {}
        self.held: dict[str, tuple[str, float]] = {}
        self.states: dict[tuple[str, str], str] = {}
        self.numbers = 0
        self._changed = trio.Event()

    # --- reading ---

    def thread(self, conversation: Conversation) -> Thread:
        return self.threads.setdefault(conversation.id, Thread(conversation))

    def fenced(self, claim: Claim) -> Thread:
        """The conversation, for a write under this claim. Raises Fenced."""
        thread = self.thread(claim.conversation)
        if thread.claim is None or thread.fence != claim.fence:
            raise Fenced(claim.conversation.id)
        return thread

    def claimed(self, thread: Thread) -> bool:
        return thread.claim is not None and thread.claim.until > self.clock()

    # --- writing ---

    def write(self, thread: Thread, drafts: Iterable[Draft]) -> tuple[Entry, ...]:
        entries: list[Entry] = []
        for draft in drafts:
            thread.written += 1
            entries.append(Entry(thread.written, draft.message, draft.calls, draft.upto))
        thread.live.extend(entries)
        thread.moved = True
        return tuple(entries)

    def post(self, thread: Thread, outbox: Sequence[Outbound], in_reply_to: str = "") -> None:
        for outbound in outbox:
            thread.rows += 1
            row = Row(f"{thread.conversation.id}#{thread.rows}", outbound, in_reply_to)
            self.outbox[row.id] = OutboxRow(row)

    def end(self, message: MessageRow, outcome: Outcome) -> None:
        """The first outcome stands."""
        if message.outcome is None:
            message.outcome = outcome
            self.passed(message, outcome)

    def passed(self, message: MessageRow, what: str) -> None:
        message.passages.append(Passage(what, self.clock()))

    def void(self, message: str, why: str) -> None:
        """The requests of a message that is over."""
        for row in self.requests.values():
            if row.request.message == message and row.state in ("open", "approved"):
                row.state, row.why = "void", why

    # --- hints ---

    def ring(self) -> None:
        self._changed.set()
        self._changed = trio.Event()

    async def changed(self) -> None:
        await self._changed.wait()


def known_as(channel: str, account: str, key: str) -> str:
    return hashlib.sha256("\0".join((channel, account, key)).encode()).hexdigest()
