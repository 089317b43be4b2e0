"""Requests: a call waits here until people have decided about it, wherever they were shown it and wherever they did.

A request is stored before it is shown, and what was decided stands in the journal alone. Fails closed: one that
expires, that nobody can be asked about, or that is refused is a refusal. Does not know how a channel shows anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial
from secrets import token_hex
from time import time

import structlog
import trio

from hookgate.approvals import rules as ruling
from hookgate.approvals.binding import Permit, Subject, policy, request_digest
from hookgate.approvals.decide import NOBODY, UNKNOWN, counted, deciding, may, not_yours, outcome, refusal_reason
from hookgate.approvals.grants import Grants
from hookgate.approvals.rules import TTL_S, Rule
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decision, Outcome, Voter, Wish, usual_title
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested, Payload
from hookgate.protocol.interfaces import Channel, Redactor
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import Approval, Intent, PolicyChanged, Standing, StoredRequest, Vote
from hookgate.protocol.redacting import presentable_request
from hookgate.protocol.values import Step, ToolCall

log = structlog.get_logger("hookgate.approvals")

STOPPED = "the turn was stopped"
RULES_CHANGED = "the rules for it have changed"


@dataclass(frozen=True)
class Refused:
    """`denied_by` is `approval:ID`; `reason` is what the model is told."""

    denied_by: str
    reason: str


@dataclass(frozen=True)
class Surroundings:
    """`emit` tells events; without a redactor nothing is secret. `directory`: where tools work. `clock`: seconds of
    the wall clock."""

    emit: Callable[[Payload, Step | None], None]
    redactor: Redactor | None = None
    directory: str = ""
    clock: Callable[[], float] = time


@dataclass
class _Open:
    """A request that a call waits for. `changed`: the rule that asks is gone, or says something else."""

    asker: str
    over: trio.Event = field(default_factory=trio.Event)
    changed: bool = False


class Approvals:
    """Calls wait in `settle`; every surface decides by `decide`; the yes is used up by `spend`."""

    def __init__(self, rules: Iterable[Rule], journal: Journal, around: Surroundings) -> None:
        self._rules = tuple(rules)
        self._journal, self._decisions, self._around = journal, journal.decisions, around
        self.grants = Grants(journal.decisions)
        self._open: dict[str, _Open] = {}

    # --- the rules ---

    @property
    def rules(self) -> tuple[Rule, ...]:
        return self._rules

    def adopt(self, rules: Iterable[Rule]) -> bool:
        """Ask by these rules from here on. Grants and open requests of a rule that is gone, or says something else,
        are void. Whether any is."""
        before, self._rules = self._rules, tuple(rules)
        contents, now = ({rule.content for rule in it} for it in (before, self._rules))
        gone = {f"rule:{content}" for content in contents - now}
        self.grants.end(gone)
        for waiting in self._open.values():
            if waiting.asker in gone:
                waiting.changed = True
                waiting.over.set()
        return contents != now

    def wishes(self, step: Step, call: ToolCall) -> tuple[Wish, ...]:
        """What the rules demand for this call."""
        return ruling.wishes(self._rules, step, call)

    def forget(self, session_key: str) -> None:
        """A conversation starts anew: what was granted in it is void."""
        self.grants.end([session_key])

    # --- a call ---

    async def settle(self, subject: Subject, wishes: Sequence[Wish], channel: Channel) -> Refused | Permit:
        """Ask for each wish in turn. Raises PolicyChanged where the rules have changed meanwhile: the call has to be
        judged again."""
        approvals, grants, lasting = list[Approval](), list[str](), list[Callable[[], None]]()
        for wish in wishes:
            if refused := _nobody_here(subject.step, wish):
                return refused
            if grant := await self.grants.covering(subject, wish):
                grants.append(grant.id)
                continue
            standing = await self._asked(subject, wish, policy(wishes), channel)
            if standing.state != "approved":
                return Refused(f"approval:{standing.request.id}", refusal_reason(standing))
            approvals.append(Approval(standing.request.id, standing.request.digest))
            vote = standing.votes[-1]
            if vote.grant == "session":
                await self.grants.give(subject, wish, vote.person)
            if vote.grant == "always" and wish.lasting is not None:
                lasting.append(partial(wish.lasting.keep, vote.person))
        # Only now: what another approver refuses must not stand allowed for good.
        for keep in lasting:
            keep()
        return Permit(subject, policy(wishes), tuple(approvals), tuple(grants))

    async def spend(self, permit: Permit) -> None:
        """The call begins, and uses up its approvals. Raises PolicyChanged and AlreadyIntended: then it must not."""
        subject = permit.subject
        if policy(self.wishes(subject.step, subject.call)) != permit.policy:
            raise PolicyChanged(RULES_CHANGED)
        intent = Intent(subject.id, permit.policy, permit.approvals, permit.grants)
        await self._journal.work.intend(subject.claim, intent)

    # --- a person ---

    async def decide(self, request: str, decision: Decision, voter: Voter) -> Outcome:
        """What somebody has pressed or typed, wherever: the first who may decides. Whoever comes later, or has no
        say, reads what became of the request."""
        waiting = self._open.get(request)
        if waiting is not None and waiting.changed:
            await self._decisions.void(request, RULES_CHANGED)
        standing = await self._decisions.standing(request)
        if standing is None:
            return UNKNOWN
        if not may(standing.request.shown, voter):
            return not_yours(standing)
        return outcome(await self._vote(request, counted(standing.request.shown, decision)))

    async def pending(self, session: str = "") -> tuple[StoredRequest, ...]:
        """What waits for people, oldest first; in one session or all."""
        return tuple(standing.request for standing in await self._decisions.pending(session))

    # --- asking ---

    async def _asked(self, subject: Subject, wish: Wish, in_force: str, channel: Channel) -> Standing:
        shown, emit = self._shown(subject, wish), self._around.emit
        claim, now = subject.claim, self._around.clock()
        bound = (claim.conversation, claim.message, subject.id, shown.digest, in_force, wish.asker)
        standing = await self._decisions.request(
            claim, StoredRequest(shown.id, *bound, shown, expires_at=now + shown.ttl_s)
        )
        # It may have been asked before: then what was shown counts, and what was said.
        stored = standing.request
        emit(self._requested(stored.shown), subject.step)
        if standing.state == "open":
            async with subject.while_asking():
                standing = await self._waited(subject, stored, stored.expires_at - now, channel)
        record = _record(standing)
        emit(record, subject.step)
        told = {"id": record.id, "tool": record.tool, "digest": record.digest}
        log.info("approval_decided", **told, approved=record.approved, by=record.by)
        if standing.state == "void":
            raise PolicyChanged(standing.why)
        return standing

    async def _waited(self, subject: Subject, stored: StoredRequest, seconds: float, channel: Channel) -> Standing:
        """Until it is decided, its time is over, or its rule has changed. Cancelled, it stays open for whoever takes
        the message up again, and is void with the message's end; a call that nobody takes up again leaves none."""
        waiting = self._open[stored.id] = _Open(stored.asker)
        decided = False
        try:
            with trio.move_on_after(max(0.0, seconds)):
                async with trio.open_nursery() as nursery:
                    nursery.start_soon(self._show, stored.shown, channel)
                    await waiting.over.wait()
                    nursery.cancel_scope.cancel()
            # A yes that comes with the end of the turn, or of the conversation, is for nothing any more.
            await trio.lowlevel.checkpoint_if_cancelled()
            if waiting.changed:
                await self._decisions.void(stored.id, RULES_CHANGED)
            # Of no effect where somebody has decided.
            late = Vote(NOBODY, False, f"nobody answered within {stored.shown.ttl_s:g} s")
            standing = await self._vote(stored.id, late)
            decided = True
        finally:
            del self._open[stored.id]
            if not decided and not (stored.message and not subject.step.extension):
                with trio.CancelScope(shield=True):
                    await self._decisions.void(stored.id, STOPPED)
        return standing

    async def _show(self, request: ApprovalRequest, channel: Channel) -> None:
        here = Voter(request.chat.channel, request.chat.sender)
        try:
            await channel.ask(request, lambda decision: self.decide(request.id, decision, here))
        except CannotAsk as error:
            await self._vote(request.id, Vote(channel.name, False, str(error)))
        except Exception as error:
            log.warning("approval_not_asked", id=request.id, exc_info=error)
            await self._vote(request.id, Vote(NOBODY, False, "the chat could not ask"))

    async def _vote(self, request: str, vote: Vote) -> Standing:
        standing = await self._decisions.decide(request, vote)
        assert standing is not None  # noqa: S101 - requests are never deleted while a call waits
        if standing.state != "open" and request in self._open:
            self._open[request].over.set()
        return standing

    def _shown(self, subject: Subject, wish: Wish) -> ApprovalRequest:
        """As people see it first."""
        step, call, redactor = subject.step, subject.call, self._around.redactor
        request = ApprovalRequest(
            id=token_hex(8),
            chat=step.chat,
            call=call,
            asked_by=wish.asked_by,
            title=wish.title or usual_title(call.name, step.extension),
            text=wish.text,
            approvers=wish.approvers,
            ttl_s=wish.ttl_s or TTL_S,
            digest=request_digest(subject, wish.asker, self._around.directory),
            once=wish.once,
            always=wish.lasting.text if wish.lasting is not None else "",
            extension=step.extension,
        )
        return request if redactor is None else presentable_request(redactor.for_questions, request)

    def _requested(self, shown: ApprovalRequest) -> ApprovalRequested:
        true, redactor = shown.unredacted or shown, self._around.redactor
        title = true.title if redactor is None else redactor.text(true.title)
        return ApprovalRequested(shown.id, true.call.name, shown.asked_by, title, shown.ttl_s, shown.digest)


def _nobody_here(step: Step, wish: Wish) -> Refused | None:
    """Whose message it is that the turn answers decides who can say yes, also to what was granted before."""
    if not wish.approvers or step.chat.sender in wish.approvers:
        return None
    return Refused(wish.asked_by, f"only {', '.join(wish.approvers)} may approve this, and nobody of them is here")


def _record(standing: Standing) -> ApprovalDecided:
    shown, approved = standing.request.shown, standing.state == "approved"
    vote, tool = deciding(standing), (shown.unredacted or shown).call.name
    if vote is None:
        return ApprovalDecided(shown.id, tool, False, NOBODY, shown.digest, refusal_reason(standing))
    grant = vote.grant if approved else None
    return ApprovalDecided(shown.id, tool, approved, vote.person, shown.digest, vote.reason or None, grant)
