"""What a decision is worth: who may give one, what of it counts, and what whoever gave it reads. Asks nobody."""

from __future__ import annotations

from hookgate.protocol.approval import OPERATOR, ApprovalRequest, Decision, Grant, Outcome, Voter
from hookgate.protocol.journal.values import Standing, Vote

NOBODY = "nobody"
"""Whose no it is where time or a broken chat has decided."""
UNKNOWN = Outcome(False, "unknown", "There is no such request.")


def may(request: ApprovalRequest, voter: Voter) -> bool:
    """Those who are named, in the chat that asks; where nobody is, whoever the turn answers. An operator always."""
    named = request.approvers or (request.chat.sender,)
    return voter == OPERATOR or (voter.channel == request.chat.channel and voter.id in named)


def counted(request: ApprovalRequest, decision: object) -> Vote:
    """Whoever embeds hookgate writes the function that asks: only true is a yes, and only for what was asked."""
    if not isinstance(decision, Decision):
        return Vote(NOBODY, False, "what was asked gave no decision")
    approved: object = decision.approved
    if approved is not True:
        return Vote(decision.by, False, decision.reason)
    return Vote(decision.by, True, decision.reason, _granted(request, decision.grant))


def _granted(request: ApprovalRequest, asked: object) -> Grant:
    match asked:
        case "session" if not request.once:
            return "session"
        case "always" if request.always:
            return "always"
        case _:
            return "once"


def outcome(standing: Standing) -> Outcome:
    return Outcome(standing.counted, standing.state, _said(standing))


def not_yours(standing: Standing) -> Outcome:
    request = standing.request.shown
    who = ", ".join(request.approvers) or "whoever asked for it"
    return Outcome(False, standing.state, f"Only {who} may decide this.")


def refusal_reason(standing: Standing) -> str:
    """What the model is told of a request that did not end with a yes."""
    if standing.state == "expired":
        return f"nobody answered within {standing.request.shown.ttl_s:g} s"
    vote = deciding(standing)
    return standing.why if vote is None else vote.reason or f"{vote.person} said no"


def deciding(standing: Standing) -> Vote | None:
    """The vote by which it came to what it is; None where none did."""
    return standing.votes[-1] if standing.votes and standing.state not in ("expired", "void") else None


def _said(standing: Standing) -> str:
    vote = deciding(standing)
    match standing.state:
        case "approved" | "refused" if standing.counted:
            return "Allowed." if standing.state == "approved" else "Refused."
        case "approved" | "spent" if vote is not None:
            return f"{vote.person} has allowed it already."
        case "refused" if vote is not None and vote.person != NOBODY:
            return f"{vote.person} has refused it already{': ' + vote.reason if vote.reason else ''}."
        case "open":
            return "It waits for somebody else as well."
        case _:
            return f"It is too late: {refusal_reason(standing)}."
