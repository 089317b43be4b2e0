"""What waits for people in a running gateway, and what they allowed for longer: looked at, decided, taken back."""

from __future__ import annotations

from collections.abc import Iterable

from hookgate.approvals.decide import meant
from hookgate.approvals.requests import Approvals
from hookgate.protocol.approval import OPERATOR, Decision, Outcome, Voter
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import Standing, StoredGrant, StoredRequest
from hookgate.protocol.values import JsonObject


@dataclass(frozen=True)
class PendingRequest:
    """A request as people are shown it, secrets hidden; `digest` is of the true call. `expires_at`: seconds of the
    wall clock, from which on it is a no. So many as are `required` have to allow it; `allowed`, who has."""

    request: str
    session: str
    tool: str
    arguments: JsonObject
    asked_by: str
    title: str
    text: str
    approvers: tuple[str, ...]
    extension: str
    always: str
    digest: str
    expires_at: float
    required: int = 1
    allowed: tuple[str, ...] = ()


@dataclass(frozen=True)
class Granted:
    """A yes that covers later calls; `by` is who gave it."""

    grant: str
    session: str
    text: str
    by: str


async def pending(approvals: Approvals, session: str = "") -> tuple[PendingRequest, ...]:
    """What waits for people, oldest first; of one session or all."""
    return waiting_rows(await approvals.undecided(session))


async def decidable(approvals: Approvals, voter: Voter, session: str = "") -> tuple[PendingRequest, ...]:
    """Those that the caller may decide, oldest first; of one session or all."""
    own = await approvals.decidable(voter)
    return waiting_rows(it for it in own if session in ("", it.request.conversation.session))


async def decide(approvals: Approvals, request: str, decision: Decision, by: Voter = OPERATOR) -> Outcome:
    """An operator's word, wherever the request was shown; what became of it where that is not the first.

    `request`: an id, or as much of it as means one alone. `by`: the operator, where they are known as somebody: it
    counts as that person's where they may decide it, and else as an operator's, but for a call of their own.
    """
    id_ = meant(request, await approvals.named(request))
    if isinstance(id_, Outcome):
        return id_
    standing = await approvals.standing(id_)
    voter = by if standing is None else _capacity(approvals, standing.request, by)
    return await approvals.decide(id_, decision, voter)


def may_decide(approvals: Approvals, request: StoredRequest, by: Voter) -> bool:
    """Whether an operator who is known as somebody has a say: a call of their own is for others, where a rule says
    so."""
    return approvals.deciders.may(request, by) or not approvals.deciders.asked_for(request, by)


def _capacity(approvals: Approvals, request: StoredRequest, by: Voter) -> Voter:
    """Nobody has two voices: who may decide it as themselves does."""
    return OPERATOR if not approvals.deciders.may(request, by) and may_decide(approvals, request, by) else by


async def grants(approvals: Approvals, session: str = "") -> tuple[Granted, ...]:
    """What people have allowed for longer; of one session or all."""
    return tuple(_granted(stored) for stored in await approvals.grants.held(session))


async def revoke(approvals: Approvals, grant: str) -> bool:
    """Take a grant back: people are asked again from here on. Whether there was such a grant."""
    return await approvals.grants.revoke(grant)


def waiting_rows(standings: Iterable[Standing]) -> tuple[PendingRequest, ...]:
    return tuple(map(_waiting, standings))


def _waiting(standing: Standing) -> PendingRequest:
    stored, shown = standing.request, standing.request.shown
    who = (shown.asked_by, shown.title, shown.text, shown.approvers, shown.extension, shown.always, shown.digest)
    session = stored.conversation.session
    votes = stored.required, tuple(it.name for it in standing.votes if it.approved)
    return PendingRequest(shown.id, session, shown.call.name, shown.call.arguments, *who, stored.expires_at, *votes)


def _granted(stored: StoredGrant) -> Granted:
    return Granted(stored.id, stored.session, stored.text, stored.by)
