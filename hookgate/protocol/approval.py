"""What a person is asked before a sensitive tool runs, and what they may answer."""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import field
from hashlib import sha256
from typing import Literal

from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass, replace
from hookgate.protocol.values import ToolCall

Grant = Literal["once", "session", "1h", "always"]
GRANTS: Mapping[str, Grant] = {"once": "once", "session": "session", "1h": "1h", "always": "always"}
"""By the words that people use."""
OnExpiry = Literal["deny", "wait", "stop"]
RequestState = Literal["open", "approved", "refused", "expired", "void", "spent"]


@dataclass(frozen=True, slots=True)
class Lasting:
    """A yes that outlives the run. `text` says what it would be for, `keep` is told who gave it; it must not wait."""

    text: str
    keep: Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Terms:
    """How people decide. `required`: so many of them must say yes. `self_approval`: whoever the turn answers may be
    one of them. `ask_in`: chats (`CHANNEL:CHAT`) that are shown it as well. `on_expiry`: what silence is.
    `grants`: how far a yes may reach beyond the one call."""

    required: int = 1
    self_approval: bool = True
    ask_in: tuple[str, ...] = ()
    on_expiry: OnExpiry = "deny"
    grants: tuple[Grant, ...] = ("session", "1h")


_USUAL_PEOPLE: tuple[list[str], int, bool] = ([], 1, True)


@dataclass(frozen=True, slots=True)
class Wish:
    """Somebody wants a person asked. `asked_by` is `rule:NAME` or `hook:NAME`; `ttl_s` None: the usual time.

    `approvers`: people, ids (`CHANNEL:ID`, or bare for one of the asking channel), `role:NAME`, `requester`; empty:
    whoever the turn answers in a direct chat, if they may, else those with the role `approver`. `once`: a yes is for
    this very call and no other. `lasting`: what may be allowed for always instead, if anything.
    `content`: the digest of what a rule says, by which it counts, whatever it is called; empty for a hook.
    """

    asked_by: str
    title: str = ""
    text: str = ""
    approvers: tuple[str, ...] = ()
    ttl_s: float | None = None
    once: bool = False
    lasting: Lasting | None = None
    content: str = ""
    terms: Terms = Terms()

    @property
    def asker(self) -> str:
        """What approvals and grants are bound to: what a rule says; of a hook, which may ask others each time, who
        has to say yes."""
        if self.content:
            return f"rule:{self.content}"
        who = (sorted(set(self.approvers)), self.terms.required, self.terms.self_approval)
        return self.asked_by if who == _USUAL_PEOPLE else f"{self.asked_by} of {sha256(canonical(who)).hexdigest()}"


@dataclass(frozen=True, slots=True)
class ApprovalRequest:
    """`asked_by`, `approvers` and `once` as in Wish; `chat` is where it is shown. `digest` binds the request to this
    very call, with its true arguments.

    `always` says what that answer would be for; empty: there is no such answer. `extension`: the one that makes the
    call, if one does. `place`: `call 1 of 2`, where its reply has more of them. `unredacted`: the same with every
    secret that is replaced here, for whoever decides to look at; None where none is.
    """

    id: str
    chat: Chat
    call: ToolCall
    asked_by: str
    title: str
    text: str
    approvers: tuple[str, ...]
    ttl_s: float
    digest: str
    once: bool = False
    always: str = ""
    extension: str = ""
    terms: Terms = Terms()
    place: str = ""
    unredacted: ApprovalRequest | None = field(default=None, repr=False)

    @property
    def grants(self) -> tuple[Grant, ...]:
        """How far a yes may reach."""
        offered: dict[Grant, bool] = {
            "once": True,
            "session": not self.once and "session" in self.terms.grants,
            "1h": not self.once and "1h" in self.terms.grants,
            "always": bool(self.always),
        }
        return tuple(grant for grant, is_offered in offered.items() if is_offered)

    @property
    def headline(self) -> str:
        """The title, with the tool's name where whoever asks has left that out."""
        tool = self.call.name
        named = re.search(rf"(?<!\w){re.escape(tool)}(?!\w)", self.title)
        return self.title if named else f"{self.title} ({tool})"

    def seen_from(self, chat: Chat) -> ApprovalRequest:
        """Elsewhere people read who asks, and where."""
        if chat.session_key == self.chat.session_key:
            return self
        said = f"{self.chat.sender or 'somebody'} asks in {self.chat.session_key}."
        text = f"{said}\n{self.text}" if self.text else said
        true = None if self.unredacted is None else self.unredacted.seen_from(chat)
        return replace(self, chat=chat, text=text, unredacted=true)


def usual_title(tool: str, extension: str, agent: str = "") -> str:
    """Of a request whose asker gives none. `agent`: the one that works on a task for another."""
    if agent and not extension:
        return f"The agent {agent} wants to run {tool}."
    return f"The extension {extension} wants to run {tool}." if extension else f"Run {tool}?"


def reason_said(text: str) -> str:
    """Why somebody refuses, from what they have written behind the no."""
    return re.sub(r"\Abecause\b[\s,:]*", "", text.strip(), flags=re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Decision:
    """A refusal has no grant; `by` is who decided, for the record. A grant that was not offered counts once.
    `within`: the grant is for commands that begin so, or for paths in there, alone. `files`: the digest of the files
    that whoever decides was shown, as it was drawn for them; None: none were. `said_in`: the chat where a command
    says so, or the channel alone (`chat_id` empty) of the card whose button does, which may not have shown all of it;
    None: whoever decides had all of it before them."""

    approved: bool
    by: str
    reason: str = ""
    grant: Grant = "once"
    within: str = ""
    files: str | None = None
    said_in: Chat | None = None


class CannotAsk(Exception):
    """Nobody can be asked here; the text says why."""


@dataclass(frozen=True, slots=True)
class Voter:
    """Who decides, by the id that the way in has established, never by a name that they give themselves."""

    channel: str
    id: str

    def __str__(self) -> str:
        return f"{self.channel}:{self.id}" if self.channel else self.id


OPERATOR_ROLE = "operator"
OPERATOR = Voter("", OPERATOR_ROLE)
"""Whoever has the gateway itself in hand."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of a request, for whoever has just tried to decide it. `counted`: that was the decision.

    `text` is one line for them.
    """

    counted: bool
    state: RequestState | Literal["unknown"]
    text: str


Decide = Callable[[Decision], Awaitable[Outcome]]
"""Takes what somebody pressed or typed about one request."""
