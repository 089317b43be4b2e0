"""One wish about a call, put to people: stored, shown and waited for; then its yes, or why there is none."""

from __future__ import annotations

from collections.abc import Callable, Collection

import structlog

from hookgate.approvals.binding import PEOPLE_CHANGED, NotApproved, Subject
from hookgate.approvals.decide import is_silence, refusal_reason
from hookgate.approvals.deciders import Deciders
from hookgate.approvals.places import Recipient, nobody_reached, places
from hookgate.approvals.surroundings import Surroundings
from hookgate.approvals.telling import asked_elsewhere, cards
from hookgate.approvals.waiting import Waiting
from hookgate.approvals.wording import decided, request_of, requested
from hookgate.protocol.approval import ApprovalRequest, Wish
from hookgate.protocol.interfaces import Channel
from hookgate.protocol.journal.decisions import Decisions, Standing, StoredRequest
from hookgate.protocol.journal.values import PolicyChanged

log = structlog.get_logger("hookgate.approvals")


class Asking:
    """`deciders`: who may by now."""

    def __init__(
        self, decisions: Decisions, around: Surroundings, waiting: Waiting, deciders: Callable[[], Deciders]
    ) -> None:
        self._decisions, self._around, self._waiting, self._deciders = decisions, around, waiting, deciders

    async def put(self, subject: Subject, wish: Wish, in_force: str, channel: Channel) -> Standing | NotApproved:
        """Its yes, or why there is none."""
        around, emit, may = self._around, self._around.emit, self._deciders()
        if subject.may_not_wait:
            return NotApproved(wish.asked_by, subject.may_not_wait)
        approvers = wish.approvers or may.limit(subject.step.chat)
        shown = request_of(subject, wish, approvers, around)
        deciders, here = may.of(shown), Recipient(channel, subject.step.chat)
        where = places(here, wish.terms.ask_in, around.channels, deciders)
        if why := nobody_reached(shown, where, deciders, may.people, may.limit(shown.chat)):
            return NotApproved(wish.asked_by, why)
        standing = await self._stored(subject, wish, in_force, shown, where)
        # It may have been asked before: then what was shown counts, and what was said.
        stored = standing.request
        emit(requested(stored.shown, around.redactor), subject.step)
        if standing.state == "open":
            async with subject.while_asking():
                standing = await self._waiting.until_decided(subject, stored, where)
        record = decided(standing)
        emit(record, subject.step)
        told = {"id": record.id, "tool": record.tool, "digest": record.digest}
        log.info("approval_decided", **told, approved=record.approved, by=record.by)
        if standing.state == "void":
            raise PolicyChanged(standing.why)
        if standing.state != "approved":
            ends_turn = wish.terms.on_expiry == "stop" and is_silence(standing)
            return NotApproved(f"approval:{stored.id}", refusal_reason(standing), ends_turn)
        return standing

    async def _stored(
        self, subject: Subject, wish: Wish, in_force: str, shown: ApprovalRequest, where: Collection[Recipient]
    ) -> Standing:
        """As it stands, asked now or before; what was asked of, or allowed by, others than may now is void."""
        claim, terms = subject.claim, wish.terms
        bound = (claim.conversation, claim.message, subject.id, shown.digest, in_force, wish.asker)
        until = 0.0 if terms.on_expiry == "wait" else self._around.clock() + shown.ttl_s
        voters = tuple(sorted(self._deciders().of(shown), key=str))
        chats = tuple(place.chat for place in where)
        request = StoredRequest(shown.id, *bound, shown, terms.required, until, voters, chats)
        outbox = (*asked_elsewhere(request), *cards(request, where))
        standing = await self._decisions.request(claim, request, outbox)
        while not self._deciders().hold(standing):
            await self._waiting.void(standing.request, PEOPLE_CHANGED)
            if standing.request.id == shown.id:
                raise PolicyChanged(PEOPLE_CHANGED)
            standing = await self._decisions.request(claim, request, outbox)
        for chat in (shown.chat, *chats):
            subject.wake(chat)
        return standing
