"""What the journal shows of what it keeps: where a message is, which conversations there are, what was said there.

Times are seconds of the wall clock.
"""

from __future__ import annotations

from dataclasses import dataclass

from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.values import Conversation, Entry, Outcome, Row


@dataclass(frozen=True, slots=True)
class Passage:
    """Where a message has been: `accepted`, `running`, `waiting` (for a person), an outcome, `delivered`, `dead` (why
    it, or what answers it, was given up)."""

    what: str
    at: float
    why: str = ""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """Where a message is, and the way it came. `state`: `queued`, `running`, `waiting` (for a person), `sending` (it
    has its outcome, and the chat does not have all of it yet), else where it came to in the end."""

    message: str
    conversation: Conversation
    text: str
    state: str
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True)
class SessionRow:
    conversation: Conversation
    entries: int
    unfinished: int
    last_at: float


@dataclass(frozen=True, slots=True)
class ChatRow:
    """A stored conversation as its list shows it; `title`: how its first message begins."""

    conversation: Conversation
    title: str
    last_at: float


@dataclass(frozen=True, slots=True)
class Exchange:
    """An accepted message, what its turn has written, and what went to its chat, each with its time. Without a
    `message`: what went there beside all messages. `begun`: a turn has taken it in."""

    message: str
    at: float
    inbound: Inbound | None
    begun: bool
    outcome: Outcome | None
    entries: tuple[tuple[float, Entry], ...] = ()
    rows: tuple[tuple[float, Row], ...] = ()
