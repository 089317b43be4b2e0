"""What a decision is worth: what of it counts, and what whoever gave it reads. Asks nobody."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from hookgate.approvals.people import REQUESTER, ROLE, People, people_named
from hookgate.protocol.approval import GRANTS, ApprovalRequest, Decision, Grant, Outcome, Voter
from hookgate.protocol.journal.decisions import Standing, Vote

NOBODY = "nobody"
"""Whose no it is where time or a broken chat has decided."""
UNKNOWN = Outcome(False, "unknown", "There is no such request.")
SEVERAL = Outcome(False, "unknown", "There are several that begin so: say more of its id.")
LEAST_TYPED = 4
"""Characters of an id: what comes to wait meanwhile is not to be meant by a slip."""
SHORT = Outcome(False, "unknown", f"Say more of its id: at least {LEAST_TYPED} characters.")


def meant(typed: str, found: Sequence[str]) -> str | Outcome:
    """The one id that somebody means who has typed so much of it, or what they read. `found`: those that begin so."""
    if len(typed) < LEAST_TYPED:
        return SHORT
    if len(found) > 1:
        return SEVERAL
    return found[0] if found else UNKNOWN


def counted(request: ApprovalRequest, decision: object, people: People, voter: Voter) -> Vote:
    """Whoever embeds hookgate writes the function that asks: only true is a yes, and only for what was asked."""
    if not isinstance(decision, Decision):
        return Vote(NOBODY, False, "what was asked gave no decision")
    approved: object = decision.approved
    said = approved is True
    grant = _granted(request, decision.grant) if said else ""
    by = people.name(voter) or decision.by
    return Vote(people.known_as(voter), said, decision.reason, grant, by=by, voter=voter)


def _granted(request: ApprovalRequest, asked: object) -> Grant:
    grant = GRANTS.get(str(asked))
    return grant if grant is not None and grant in request.grants else "once"


def outcome(standing: Standing) -> Outcome:
    return Outcome(standing.counted, standing.state, _said(standing))


def unread(request: ApprovalRequest) -> Outcome:
    """Of a yes to what has not been shown as a whole."""
    told = f"Not counted: not all of it has been shown. /pending {request.id[:8]} shows all; after that a yes counts."
    return Outcome(False, "open", told)


def not_yours(standing: Standing, limit: Iterable[str] = ()) -> Outcome:
    return Outcome(False, standing.state, f"Only {whose(standing.request.shown, limit)} may decide this.")


def whose(request: ApprovalRequest, limit: Iterable[str] = ()) -> str:
    """Who may decide, in words. `limit`: of whom the channel lets nobody else."""
    named = people_named(request.approvers, request.chat, self_approval=request.terms.self_approval)
    limit = tuple(limit)
    said = ", ".join(map(_in_words, named))
    if not limit or set(limit) == set(named):
        return said
    return f"{said}, as far as the channel names them too ({', '.join(map(_in_words, limit))}),"


def _in_words(approver: str) -> str:
    if approver == REQUESTER:
        return "whoever asked for it"
    return f"those with the role {approver.removeprefix(ROLE)}" if approver.startswith(ROLE) else approver


def refusal_reason(standing: Standing) -> str:
    """What the model is told of a request that did not end with a yes."""
    if standing.state == "expired":
        return silence(standing.request.shown)
    vote = deciding(standing)
    return standing.why if vote is None else vote.reason or f"{vote.name} said no"


def silence(request: ApprovalRequest) -> str:
    return f"nobody answered within {request.ttl_s:g} s"


def is_silence(standing: Standing) -> bool:
    """Whether its time has decided it."""
    vote = deciding(standing)
    by_time = vote is not None and vote.person == NOBODY and vote.reason == silence(standing.request.shown)
    return standing.state == "expired" or (standing.state == "refused" and by_time)


def deciding(standing: Standing) -> Vote | None:
    """The vote by which it came to what it is; None where none did."""
    return standing.votes[-1] if standing.votes and standing.state not in ("expired", "void") else None


def so_far(standing: Standing) -> str:
    """How many have allowed it, where several have to: `1 of 2`."""
    required = standing.request.required
    said = sum(vote.approved for vote in standing.votes)
    return f"{said} of {required}" if required > 1 else ""


def _said(standing: Standing) -> str:
    vote = deciding(standing)
    match standing.state:
        case "approved" | "refused" if standing.counted:
            return "Allowed." if standing.state == "approved" else "Refused."
        case "approved" | "spent" if vote is not None:
            return f"{vote.name} has allowed it already."
        case "refused" if vote is not None and vote.person != NOBODY:
            return f"{vote.name} has refused it already{': ' + vote.reason if vote.reason else ''}."
        case "open" if standing.counted:
            return f"{so_far(standing)}: it waits for somebody else as well."
        case "open":
            return f"You have said so already. {so_far(standing)}: it waits for somebody else."
        case _:
            return f"It is too late: {refusal_reason(standing)}."
