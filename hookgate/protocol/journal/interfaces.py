"""What the journal can be asked to do, by who asks. Every write under a claim raises Fenced where that is stale.

A call that returns has been stored; one that is cancelled or raises has stored nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from hookgate.protocol.chat import Chat, Outbound
    from hookgate.protocol.hook.answers import Answer
    from hookgate.protocol.journal.audit import CallAudit
    from hookgate.protocol.journal.cluster import Cluster
    from hookgate.protocol.journal.decisions import Decisions
    from hookgate.protocol.journal.keys import KnownKeys
    from hookgate.protocol.journal.people import KnownPeople
    from hookgate.protocol.journal.values import (
        Accepted,
        AnswerKey,
        Arrival,
        ArrivalKind,
        Claim,
        Completed,
        Conversation,
        Draft,
        Entry,
        Handed,
        Intent,
        Outcome,
        ReadSoFar,
        Row,
        Stored,
        Unfinished,
    )
    from hookgate.protocol.journal.views import Books, Chats
    from hookgate.protocol.values import Message, ToolResult


class Intake(Protocol):
    """For channels: nothing is confirmed upstream before `accept` has returned."""

    async def accept(self, arrival: Arrival) -> Accepted:
        """Store it, or find that it was. A stop ends what runs in the conversation, else what would run next; a new
        conversation ends all that is unfinished, and what was granted there: both are stored with the message
        itself."""
        ...

    async def settle(self, message: str, outcome: Outcome, outbox: Sequence[Outbound] = (), why: str = "") -> None:
        """The end of what no turn answers: a command, a decision, an overflow. The first one stands; `why` is for
        whoever asks where it is."""
        ...

    async def refuse(self, arrival: Arrival, why: str, outbox: Sequence[Outbound] = ()) -> Accepted:
        """Store it with its end, in one step, where it is not known."""
        ...

    async def lead(self, message: str, arrival: Arrival) -> Accepted | None:
        """A command ends, and the message that it leads to is accepted, in one step. None: it had an end."""
        ...

    async def conversation(self, session: str, agent: str) -> Conversation:
        """The one that is going on there."""
        ...

    async def unfinished(self, kind: ArrivalKind = "message", session: str = "") -> tuple[Unfinished, ...]:
        """Messages that nobody works on and no turn has taken in: what a crash left first, then as they came. Of
        commands and decisions, those that have no end. In one session or all; of those that other gateways have,
        none."""
        ...

    async def begin(self, message: str) -> bool:
        """A command that another gateway has taken in is done from now on; one that was taken in where its
        conversation is has begun with that. False: somebody has begun it before."""
        ...

    async def offset(self, channel: str, account: str) -> str:
        """Where the channel is in its stream; empty: nowhere yet."""
        ...


class Work(Protocol):
    """For sessions."""

    @property
    def me(self) -> str:
        """The gateway that claims."""
        ...

    async def claim(
        self,
        by: str,
        lease_s: float,
        conversation: Conversation | None = None,
        message: str = "",
        known: ReadSoFar | None = None,
    ) -> Claim | None:
        """The oldest unfinished message that nobody works on, what a crash left first; None: nothing to do. With a
        conversation: the right to write there, for this message or for work that none has asked for; None where
        somebody has it, or the message has ended, or has to wait: for those that came before it, and work that none
        has asked for for what was cut off.

        `known`: a short conversation that has gone on since comes with the claim. What is said first is stored with
        it, or not at all.

        A message whose third claim has died becomes a dead letter, its requests are void, and its chat is told.
        """
        ...

    async def renew(self, claim: Claim, lease_s: float) -> Claim: ...

    async def release(self, claim: Claim) -> None:
        """Unfinished, and no attempt: a drain, a turn that is parked."""
        ...

    async def join(self, claim: Claim, message: str, said: Message) -> Entry:
        """An accepted message becomes part of the running turn, as hooks have left it."""
        ...

    async def load(self, conversation: Conversation) -> Stored: ...

    async def append(
        self,
        claim: Claim,
        drafts: Sequence[Draft],
        outbox: Sequence[Outbound] = (),
        audits: Sequence[CallAudit] = (),
    ) -> tuple[Entry, ...]:
        """`audits`: the records of the calls that have come to their end with it."""
        ...

    async def rewind(self, claim: Claim, to: int) -> None:
        """Entries from this number on count no more; their numbers are not given again."""
        ...

    async def intend(self, claim: Claim, intent: Intent) -> None:
        """Spends the approvals, all or none. Raises AlreadyIntended, and PolicyChanged where an approval is not
        there or was asked under another policy, or a grant has been taken back."""
        ...

    async def finish(self, claim: Claim, call_id: str, result: ToolResult, duration_ns: int) -> None:
        """What a call came to; it awaits after_tool."""
        ...

    async def hand_over(self, claim: Claim, call_id: str, outbound: Outbound) -> Handed:
        """A row for what a call gives people in the answer's place. One for each call: the one that is there already
        is adopted, whatever it says and whatever has become of it."""
        ...

    async def answered(self, claim: Claim, asked: AnswerKey, answer: Answer) -> None: ...

    async def answer(self, asked: AnswerKey) -> Answer | None:
        """What the hook said to this very question, if it was asked."""
        ...

    async def complete(
        self,
        claim: Claim,
        outcome: Outcome,
        drafts: Sequence[Draft] = (),
        outbox: Sequence[Outbound] = (),
        read: Sequence[str] = (),
        audits: Sequence[CallAudit] = (),
        why: str = "",
    ) -> Completed:
        """The end of the claim and of its message. Of the messages that joined, those in `read` end with it and all
        others go back to the queue; requests that are open still are void. `why` it came to this outcome."""
        ...


class Posting(Protocol):
    """For delivery. A row that edits a card has the card's receipt for its preview."""

    async def post(self, agent: str, outbox: Sequence[Outbound]) -> None:
        """What answers no message: it belongs to what is going on in its chat with this agent."""
        ...

    async def preview(self, claim: Claim, outbound: Outbound) -> Row:
        """A row for what is still being written, before any of it is sent. It is not on its way: what is stored next
        for the claim's message fills it; where nothing is, the message's end does. The one that is open already is
        adopted, with what stands in the chat."""
        ...

    async def previewed(self, row: str, receipt: str) -> None:
        """A preview of it stands in the chat."""
        ...

    async def outgoing(self, channel: str) -> tuple[Row, ...]:
        """The next row of each chat that is due: per chat in order."""
        ...

    async def next_row(self, chat: Chat) -> Row | None:
        """The next one of this chat, due or not."""
        ...

    async def sent(self, row: str, receipt: str) -> Row | None:
        """It is there. The next one of its chat, due or not."""
        ...

    async def failed(self, row: str, why: str, again_at: float) -> None: ...

    async def dead(self, row: str, why: str) -> None: ...

    async def changed(self) -> None:
        """Until something may have changed: a hint, never the truth."""
        ...


class Holds(Protocol):
    """What only one gateway may have, and what a platform needs to resume."""

    async def hold(self, name: str, by: str, lease_s: float) -> bool: ...

    async def state(self, channel: str, name: str) -> str: ...

    async def keep_state(self, channel: str, name: str, value: str) -> None: ...

    async def change_state(self, channel: str, name: str, change: Callable[[str], str]) -> str:
        """What it is then: `change` is told what it was, in one step with nobody else's; it may be asked again."""
        ...


class Journal(Protocol):
    @property
    def outlives(self) -> bool:
        """Whether what is stored outlives the process."""
        ...

    @property
    def intake(self) -> Intake: ...

    @property
    def work(self) -> Work: ...

    @property
    def decisions(self) -> Decisions: ...

    @property
    def posting(self) -> Posting: ...

    @property
    def holds(self) -> Holds: ...

    @property
    def books(self) -> Books: ...

    @property
    def chats(self) -> Chats: ...

    @property
    def people(self) -> KnownPeople: ...

    @property
    def keys(self) -> KnownKeys: ...

    @property
    def cluster(self) -> Cluster:
        """The gateways that share it."""
        ...
