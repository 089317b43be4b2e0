"""What the journal keeps of calls that wait for people: requests, what was said, what became of them, and what is
allowed for longer, as values, and what can be asked of it.

Times are seconds of the wall clock.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from hookgate.protocol.approval import ApprovalRequest, RequestState, Voter
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Claim, Conversation


@dataclass(frozen=True, slots=True)
class StoredRequest:
    """A call that waits for people. `digest` binds it to that very call, `policy` to the rules it was asked under;
    `asker`: the hook, or the digest of what the rule says. `required` of those who may decide have to say yes.
    `expires_at` 0: never. `shown` is what people read; `voters`, who could decide when it was stored; `places`, the
    chats in which they are asked."""

    id: str
    conversation: Conversation
    message: str
    call_id: str
    digest: str
    policy: str
    asker: str
    shown: ApprovalRequest
    required: int = 1
    expires_at: float = 0.0
    voters: tuple[Voter, ...] = ()
    places: tuple[Chat, ...] = ()


@dataclass(frozen=True, slots=True)
class Vote:
    """What one person said; under whichever id, each is counted once. `grant`: what the yes is good for besides this
    call; empty: nothing; `prefix`: only where the parts of a call begin so. `by` is what they are called for the
    record, where that is not what they are known as; `voter`, the id that they came under; None: nobody said it."""

    person: str
    approved: bool
    reason: str = ""
    grant: str = ""
    prefix: tuple[str, ...] = ()
    by: str = ""
    voter: Voter | None = None

    @property
    def name(self) -> str:
        return self.by or self.person


@dataclass(frozen=True, slots=True)
class Standing:
    """What has become of a request by now: `votes` in the order in which they came, `why` where it is void."""

    request: StoredRequest
    state: RequestState
    votes: tuple[Vote, ...] = ()
    why: str = ""
    counted: bool = True
    """Whether the vote that this answers was taken; False: it came too late, or twice."""


@dataclass(frozen=True, slots=True)
class StoredGrant:
    """A yes that covers later calls. `scope` is what it is bound to, a digest without the call's id; `asker` is whose
    question it answers, `text` says for people what it covers. `session` empty: every conversation. `until` 0: no
    end. `to`: whose calls it covers. `prefix`: what the parts of a call begin with; empty: whatever its arguments.
    `voters`: who gave it, under the ids that they came under."""

    id: str
    scope: str
    by: str
    asker: str
    text: str
    session: str = ""
    until: float = 0.0
    to: str = ""
    prefix: tuple[str, ...] = ()
    voters: tuple[Voter, ...] = ()


class Decisions(Protocol):
    """For approvals. A decision needs no claim and may come from anywhere. Cards are rows of the outbox that name
    their request: whenever something has become of it, each is followed, in the same step, by a row that edits it."""

    async def request(self, claim: Claim, request: StoredRequest, outbox: Sequence[Outbound] = ()) -> Standing:
        """Store it before it is shown. The same digest in the same conversation adopts what is stored already, with
        whatever was decided; another digest for the same call voids that. The outbox, for whatever chats, leaves
        where it is stored anew."""
        ...

    async def decide(self, request: str, vote: Vote, outbox: Sequence[Outbound] = ()) -> Standing | None:
        """Compare and set: a no decides at once, as many yes as are required do. The outbox leaves where this decides
        it, or nobody's vote finds first that its time is over. None: there is no such request."""
        ...

    async def standing(self, request: str) -> Standing | None: ...

    async def asked(self, claim: Claim, call_id: str) -> tuple[Standing, ...]:
        """What people were asked about this call of the claim's conversation, under whatever rules: what is open, and
        what was decided and not used. The oldest first."""
        ...

    async def beginning(self, prefix: str) -> tuple[str, ...]:
        """The ids of stored requests that begin so, two at most: what people type is short."""
        ...

    async def pending(self, session: str = "") -> tuple[Standing, ...]:
        """The open ones, oldest first; of one session or all."""
        ...

    async def still_open(self) -> Mapping[str, bool]:
        """Those that nobody has ended: not decided, void or found to be over by whoever waits. By the id whether one
        of its cards was given up."""
        ...

    async def void(self, request: str, why: str, outbox: Sequence[Outbound] = ()) -> None: ...

    async def shown(self, request: str, chat: Chat, receipt: str) -> None:
        """A card of it stands there that no row may know, as a crash leaves one: it is edited as all others are."""
        ...

    async def given_up(self, request: str) -> tuple[str, ...]:
        """Of its cards that never came to their chats: why."""
        ...

    async def grant(self, grant: StoredGrant) -> None:
        """Of an id that was granted before, and taken back perhaps, nothing changes."""
        ...

    async def revoke(self, grant: str) -> bool: ...

    async def grants(self, session: str = "") -> tuple[StoredGrant, ...]:
        """Those that hold now; in one session or all."""
        ...
