"""What the journal shows of what it keeps, and who can ask for it: where a message is, which conversations there are,
what was said there.

Times are seconds of the wall clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.journal.values import Conversation, Entry, Outcome, Row, cost
from hookgate.protocol.values import Usage


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
    has its outcome, and the chat does not have all of it yet), else where it came to in the end: `delivered` where it
    was answered, `dropped` or `refused` where its chat has a line that says so at the most. `why` it is there."""

    message: str
    conversation: Conversation
    text: str
    state: str
    passages: tuple[Passage, ...]
    why: str = ""

    @staticmethod
    def came_to(outcome: Outcome, passages: Sequence[Passage]) -> tuple[str, str]:
        """The state, and why, of a message that has this outcome and nothing on its way any more."""
        last = passages[-1]
        if last.what != "delivered" or outcome not in ("dropped", "refused"):
            return last.what, last.why
        return outcome, next((it.why for it in reversed(passages) if it.what == outcome), "")


@dataclass(frozen=True, slots=True)
class DeadLetter:
    """What was given up. `incoming`: a message that nobody could answer; `outgoing`: what did not get to its chat.
    `message`: the one that it is or answers, if it is of one. `text`: how it begins."""

    id: str
    kind: Literal["incoming", "outgoing"]
    session: str
    message: str
    text: str
    at: float
    why: str
    tries: int


@dataclass(frozen=True, slots=True)
class Outgoing:
    """What waits for one chat. `since`: when the next of it was stored; `tries` of that, `why` the last one failed,
    and when the next one is due."""

    channel: str
    session: str
    rows: int
    since: float
    tries: int
    why: str
    again_at: float


@dataclass(frozen=True, slots=True)
class StoreView:
    """`bytes`: on the disk; `used`: without the room that is free in it. A journal in memory has none of it."""

    path: str = ""
    bytes: int = 0
    written_at: float = 0.0
    used: int = 0


@dataclass(frozen=True, slots=True)
class AuditView:
    """`head`: the hash of the last record. `signed`: the last record under a checkpoint, which is of `signed_at`."""

    records: int = 0
    head: str = ""
    signed: int = 0
    signed_at: float = 0.0


@dataclass(frozen=True, slots=True)
class Overview:
    """`unfinished` messages; `outgoing` by chat, what was tried most often first; `dead`: how many dead letters there
    are, and `letters` the last of them, the newest first."""

    conversations: int
    unfinished: int
    outgoing: tuple[Outgoing, ...]
    dead: int
    letters: tuple[DeadLetter, ...]
    store: StoreView = StoreView()
    audit: AuditView = AuditView()


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

    @property
    def usage(self) -> Usage | None:
        """What its model calls have cost."""
        return cost(entry for _, entry in self.entries)


class Books(Protocol):
    """For operators."""

    async def where(self, message: str) -> tuple[Whereabouts, ...]:
        """This message; where there is none, those whose ids begin so, the first of them. An empty id: what is
        unfinished. None: unknown."""
        ...

    async def sessions(self) -> tuple[SessionRow, ...]: ...

    async def overview(self) -> Overview:
        """At one moment."""
        ...

    async def retry(self, letter: str, by: str) -> Chat | None:
        """A dead letter is as it was before it was tried; its chat. `by` goes on record. None: there is none."""
        ...

    async def drop(self, letter: str, by: str) -> bool:
        """A dead letter is none any more. `by` goes on record. Whether there was one."""
        ...

    async def forget(self, conversation: Conversation) -> None:
        """Everything that was said; claims on it are stale from here on, and repeats of its messages stay known."""
        ...


class Chats(Protocol):
    """For channels that show again what was said. Of the engine in memory: as far as it is kept."""

    async def listed(self, sessions: str, search: str = "", most: int = 200) -> tuple[ChatRow, ...]:
        """Those whose session key begins so, the last one used first; with this in what was said there."""
        ...

    async def said(self, conversation: Conversation, most: int = 200) -> tuple[Exchange, ...]:
        """The last of it, in order; what was taken back for something else is left out."""
        ...

    async def exchange(self, row: str) -> Exchange | None:
        """The one that this row of the outbox is part of, if it is of one."""
        ...

    async def judged(self, conversation: Conversation, most: int = 400) -> Mapping[str, tuple[Judgement, ...]]:
        """What hooks said of its last calls, by the journal's names of these, as the audit chain has it; nothing of a
        call whose words are forgotten."""
        ...
