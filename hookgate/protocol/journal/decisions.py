"""What the journal keeps of calls that wait for people, as values: requests, what was said, what became of them, and
what is allowed for longer.

Times are seconds of the wall clock.
"""

from __future__ import annotations

from hookgate.protocol.approval import ApprovalRequest, RequestState, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.values import Conversation


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
    end. `to`: whose calls it covers. `prefix`: what the parts of a call begin with; empty: whatever its arguments."""

    id: str
    scope: str
    by: str
    asker: str
    text: str
    session: str = ""
    until: float = 0.0
    to: str = ""
    prefix: tuple[str, ...] = ()
