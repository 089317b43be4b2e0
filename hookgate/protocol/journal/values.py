"""What the journal keeps, as values. Times are seconds of the wall clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Literal

from hookgate.protocol.chat import Inbound, Outbound
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.values import Message, ToolCall, ToolResult, Usage

ArrivalKind = Literal["message", "command", "decision"]
AcceptEffect = Literal["none", "stop", "new"]
Outcome = Literal["answered", "refused", "dropped", "dead"]
"""How an accepted message ends: each has exactly one."""


class Fenced(Exception):
    """Somebody else has claimed this work since; nothing was written, and whoever tried has to let go of it."""


class AlreadyIntended(Exception):
    """This call was about to run once before, and nobody knows whether it did: it is never run again."""


class PolicyChanged(Exception):
    """An approval, a grant or the policy that a call was let through under does not hold any more: ask again."""


@dataclass(frozen=True, slots=True)
class Conversation:
    """`session` is its chat's session key; each /new begins the next `generation`."""

    session: str
    agent: str
    generation: int = 0

    @property
    def id(self) -> str:
        return f"{self.session}/{self.agent}/{self.generation}"


def led_by(agent: str) -> tuple[str, str]:
    """Of a conversation's agent: its name, and the id of the message that has led to the task that it works on there;
    of no task: empty, or what is none."""
    name, _, path = agent.partition("+")
    return name, path.partition(".")[0]


@dataclass(frozen=True, slots=True)
class Upstream:
    """Where a message comes from: the account of its platform that has received it, and the channel's place in its
    stream after it; empty: none that is known. `key`: what makes it this very message there, in whichever chat;
    empty: its number in its chat. `stream`: which of the account's, where it has several."""

    account: str = ""
    offset: str = ""
    key: str = ""
    stream: str = ""


NOWHERE = Upstream()


@dataclass(frozen=True, slots=True)
class Arrival:
    """A message as a channel hands it in. With the channel's name, `account` and `key` make it this very message
    upstream, so that a repeat is known as one; without a key it is never repeated. `effect`: what it does to its
    conversation the moment it is stored. `offset`: the channel's place in its stream after it, kept in the same
    transaction; empty: none."""

    inbound: Inbound
    agent: str
    key: str
    account: str = ""
    kind: ArrivalKind = "message"
    effect: AcceptEffect = "none"
    offset: str = ""
    stream: str = ""

    @property
    def place(self) -> str:
        """Whose the offset is: the account's, or that of one of its streams."""
        return f"{self.account} {self.stream}" if self.stream else self.account


@dataclass(frozen=True, slots=True)
class Accepted:
    """`known`: it had been accepted before. `meant`: the messages that a stop or a new conversation ends.
    `elsewhere`: another gateway has the conversation, and has been told. `behind`: others wait there for their
    answer, which another gateway may have taken in."""

    id: str
    conversation: Conversation
    known: bool = False
    meant: tuple[str, ...] = ()
    elsewhere: bool = False
    behind: bool = False


@dataclass(frozen=True, slots=True)
class Unfinished:
    """An accepted message that has no outcome yet. `begun`: of a command, that somebody has begun to do it."""

    accepted: Accepted
    inbound: Inbound
    begun: bool = False


@dataclass(frozen=True, slots=True)
class Claim:
    """The right to write for one conversation until `until`. `message`: the accepted one that is answered; empty for
    work that no message has asked for. `attempt` counts from 1 and grows only where a claim died without a new step.
    `stopped`: a person ended it before it could be claimed again, so it is completed without being run. `first`: the
    number of the first entry that was stored for the message; 0: none yet. `after`: the fence of the claim before;
    who had that one has missed nothing. `latest`: nothing newer has begun where the conversation is. `stored`: what
    was said, where whoever claims has missed it and it is short; `entered`: what the claim itself has added to it."""

    conversation: Conversation
    fence: int
    by: str
    until: float
    message: str = ""
    inbound: Inbound | None = None
    attempt: int = 1
    stopped: bool = False
    first: int = 0
    after: int = 0
    latest: bool = True
    stored: Stored | None = field(default=None, compare=False, repr=False)
    entered: tuple[Entry, ...] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class CallRecord:
    """A call of a reply, with all that a turn which goes on after a crash needs of it.

    `id`: the number of the reply's entry and the index in it, given when it is stored. `call` or else the
    `unreadable` result. `provider`, `owner` and `spec_digest` are the tool's when it was asked for; a call whose tool
    is another one by now is stale. `model`: that has made it, which a hook may have chosen.
    """

    call: ToolCall | None
    unreadable: ToolResult | None
    agent: str
    iteration: int
    provider: str = ""
    owner: str = ""
    spec_digest: str = ""
    extension: str = ""
    id: str = ""
    model: str = ""


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a transcript; numbers have no gaps and are never given twice. `at`: when it was stored. The rest
    as in Draft."""

    number: int
    message: Message
    calls: tuple[CallRecord, ...] = ()
    upto: int = 0
    shown: str | None = None
    usage: Usage | None = None
    at: float = 0.0


def cost(entries: Iterable[Entry]) -> Usage | None:
    """Of all of them; None: nobody counted any."""
    known = [it.usage for it in entries if it.usage is not None]
    return sum(known[1:], known[0]) if known else None


@dataclass(frozen=True, slots=True)
class Draft:
    """An entry before it has a number. `upto`: it is a summary that stands for every entry below that number.
    `shown`: what people saw of it, where that is not its text; of a call's result, why the call did not run. `usage`:
    what the model calls that led to it have cost, those of a task that the call gave included; None: there was none,
    or nobody counted."""

    message: Message
    calls: tuple[CallRecord, ...] = ()
    upto: int = 0
    shown: str | None = None
    usage: Usage | None = None

    def numbered(self, number: int, at: float) -> Entry:
        calls = tuple(replace(it, id=f"{number}.{index}") for index, it in enumerate(self.calls))
        return Entry(number, self.message, calls, self.upto, self.shown, self.usage, at)


@dataclass(frozen=True, slots=True)
class Approval:
    """The id of a request that was approved, and the digest that binds it to the call."""

    request: str
    digest: str


@dataclass(frozen=True, slots=True)
class Intent:
    """A call is about to run: the approvals that it spends, the grants that it stands on, the policy it passed. For
    the audit: the `revision` of all rules then, and what hooks said of it. `call`: as it begins, of one that goes on
    after a crash."""

    call_id: str
    policy: str
    approvals: tuple[Approval, ...] = ()
    grants: tuple[str, ...] = ()
    revision: str = ""
    judgements: tuple[Judgement, ...] = ()
    call: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class CallState:
    """How far a call came: with a `result` it awaits after_tool, with an intent alone it may have happened. `begun`:
    the call that it goes on as."""

    intended: bool = False
    result: ToolResult | None = None
    duration_ns: int = 0
    begun: ToolCall | None = None


@dataclass(frozen=True, slots=True)
class Stored:
    """A conversation as it is stored: the last summary, if there is one, and every entry above it. `calls` by id.
    `joined`: the messages that joined a turn which has not ended, each with the number of its entry."""

    entries: tuple[Entry, ...]
    calls: tuple[tuple[str, CallState], ...] = ()
    joined: tuple[tuple[str, int], ...] = ()

    def call(self, call_id: str) -> CallState:
        return dict(self.calls).get(call_id, CallState())


@dataclass(frozen=True, slots=True)
class AnswerKey:
    """The very question that a hook was asked at on_message or before_send: `subject` is the number of the message or
    of the row, `content` the digest of what it says, `hook_digest` of the hook's program and configuration."""

    subject: str
    stage: str
    hook: str
    content: str
    hook_digest: str


@dataclass(frozen=True, slots=True)
class Row:
    """Something on its way to a chat. `id` derives from what it answers and its number, never from chance, so that a
    channel with keys sends it once. `preview`: the receipt of what stands in its place in the chat already. `last`:
    nothing came after it there when it was found to be next."""

    id: str
    outbound: Outbound
    in_reply_to: str = ""
    tries: int = 0
    preview: str = ""
    last: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class ReadSoFar:
    """What whoever claims has read of the conversation: all up to the claim with this `fence`; -1: nothing. `says`:
    what is said there first under the new claim, if that is still all that was said."""

    fence: int = -1
    says: tuple[Draft, ...] = ()

    def is_all(self, claim: Claim) -> bool:
        """Whether nothing more was said there, nor for the same message before."""
        empty = self.fence < 0 and claim.stored is not None and not claim.stored.entries
        return not claim.first and (claim.after == self.fence or empty)


@dataclass(frozen=True, slots=True)
class Completed:
    """The end of a claim. `row`: the first of its outbox, where that is next in its chat."""

    entries: tuple[Entry, ...] = ()
    row: Row | None = None


@dataclass(frozen=True, slots=True)
class Handed:
    """The row that a call's own output leaves in. `given_up`: why it does not, where that was found out before."""

    row: str
    given_up: str = ""
