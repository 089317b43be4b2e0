"""What a yes is bound to: digests of one very call, of what a grant covers, and of the rules that were in force."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractAsyncContextManager, nullcontext
from hashlib import sha256

from hookgate.protocol.approval import Wish
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import StoredGrant
from hookgate.protocol.journal.values import Approval, Claim
from hookgate.protocol.values import Step, ToolCall, ToolSpec
from hookgate.protocol.values.spec_digest import spec_digest

RULES_CHANGED = "the rules for it have changed"
SCRIPT_CHANGED = "a file that it runs or changes is another one than was shown"
PEOPLE_CHANGED = "who may decide it has changed"
"""Why a yes is for this call no more."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A call that somebody wants a person asked about, and the work that it belongs to. `id` names it in its
    conversation; `spec` None: a hook has answered for a tool that nobody offers. `while_asking` is held while
    it waits for people; `may_not_wait` says why it cannot. `files`: the digest of the files that it names. `wake`:
    something for a chat has been stored. `goes_on`: after a crash, as the call that it began as. `place`: among what
    people are asked besides."""

    claim: Claim
    step: Step
    call: ToolCall
    id: str
    spec: ToolSpec | None = None
    may_not_wait: str = ""
    files: str = ""
    while_asking: Callable[[], AbstractAsyncContextManager[None]] = nullcontext
    wake: Callable[[Chat], None] = lambda _chat: None
    goes_on: bool = False
    place: str = ""


@dataclass(frozen=True, slots=True)
class Permit:
    """What lets a call run: the approvals that it spends, the grants that it stands on, each with what it answers,
    the rules that were asked. `before`: what others wanted who had the call before it was cut off, and who want
    nothing here."""

    subject: Subject
    policy: str
    approvals: tuple[Approval, ...] = ()
    grants: tuple[tuple[Wish, StoredGrant], ...] = ()
    before: tuple[Wish, ...] = ()


@dataclass(frozen=True)
class NotApproved:
    """`denied_by` is `approval:ID`; `reason` is what the model is told. `ends_turn`: it is not asked to go on."""

    denied_by: str
    reason: str
    ends_turn: bool = False


def request_digest(subject: Subject, asker: str, directory: str) -> str:
    """SHA-256, in hex: with any of this different it is another request."""
    claim, step, call = subject.claim, subject.step, subject.call
    where = [claim.conversation.id, claim.message or step.turn_id, subject.id, directory]
    what = [call.name, *_tool(subject.spec), call.arguments]
    return _digest([*where, *what, step.agent, step.extension, asker, subject.files])


def grant_scope(subject: Subject, asker: str, session: str, directory: str) -> str:
    """What a yes for more than one call covers: a yes to the model is none to an extension, one to a native call none
    to a call in the text, and one for somebody's calls none for another's. `session` empty: in all of theirs."""
    step, call = subject.step, subject.call
    whose = [session, step.chat.channel, step.chat.sender, step.agent, step.extension]
    # One for somebody whom a program names is none for the others whom it names.
    named = [step.chat.account] if step.chat.account else []
    return _digest([*whose, *named, directory, asker, call.name, *_tool(subject.spec), call.origin])


def policy(wishes: Iterable[Wish]) -> str:
    """The rules that cover a call, by what they say; hooks are no part of it."""
    return _digest(sorted(wish.content for wish in wishes if wish.content))


def _tool(spec: ToolSpec | None) -> list[str]:
    if spec is None:
        return ["", ""]
    return [spec.provider, spec_digest(spec)]


def _digest(value: object) -> str:
    return sha256(canonical(value)).hexdigest()
