"""What the journal in memory holds: messages, conversations, what leaves, what people are asked."""

from __future__ import annotations

from dataclasses import field

from hookgate.protocol.approval import RequestState
from hookgate.protocol.chat import Inbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.journal.decisions import StoredRequest, Vote
from hookgate.protocol.journal.values import ArrivalKind, CallState, Claim, Conversation, Entry, Outcome, Row
from hookgate.protocol.journal.views import Passage


@dataclass
class MessageRow:
    """An accepted message. `first`: the number of its turn's first entry, below zero once that was taken back.
    `joined_at`: that of its own in a turn that another message began. `begun`: it has been claimed before.
    `attempts`: claims that died without a new step."""

    id: str
    conversation: Conversation
    inbound: Inbound
    kind: ArrivalKind
    outcome: Outcome | None = None
    first: int = 0
    joined_at: int = 0
    stopped: bool = False
    begun: bool = False
    attempts: int = 0
    passages: list[Passage] = field(default_factory=list[Passage])


@dataclass
class OutboxRow:
    """`open`: a place for what is still being written. `given_up`: why, where it never left;
    `failed`: why it has not yet. `at`: when it was stored. `receipt`: of what is there; `edits`: the card whose
    message it changes."""

    row: Row
    open: bool = False
    again_at: float = 0.0
    given_up: str = ""
    failed: str = ""
    at: float = 0.0
    receipt: str = ""
    edits: OutboxRow | None = None

    @property
    def leaving(self) -> Row:
        return self.row if self.edits is None else replace(self.row, preview=self.edits.receipt)


@dataclass
class Thread:
    """One stored conversation. `live` are the entries that count, `written` all there were; `calls`, `handed` and
    `joined` are those of the claim in force: how far its calls are, the rows that they gave people themselves, the
    messages that its turn has taken in."""

    conversation: Conversation
    live: list[Entry] = field(default_factory=list[Entry])
    summary: Entry | None = None
    calls: dict[str, CallState] = field(default_factory=dict[str, CallState])
    handed: dict[str, OutboxRow] = field(default_factory=dict[str, OutboxRow])
    written: int = 0
    joined: list[str] = field(default_factory=list[str])
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
    cards: list[OutboxRow] = field(default_factory=list[OutboxRow])
