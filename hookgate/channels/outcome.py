"""What has become of an approval request, in one line for the cards of all channels. Pure."""

from __future__ import annotations

from hookgate.channels.printable import visible
from hookgate.protocol.journal.decisions import Standing

MAX_REASON = 200


def became(standing: Standing) -> str:
    """Empty while it waits and nobody has said anything."""
    votes, required = standing.votes, standing.request.required
    said = sum(vote.approved for vote in votes)
    match standing.state:
        case "open":
            return f"{said} of {required} have allowed it." if said else ""
        case "approved" | "spent" if votes:
            return f"Allowed by {', '.join(visible(vote.name) for vote in votes if vote.approved)}."
        case "refused" if votes:
            by = f" by {visible(votes[-1].name)}" if votes[-1].voter is not None else ""
            return f"Refused{by}{_because(votes[-1].reason)}."
        case "expired":
            return "Nobody answered in time: refused."
        case _:
            return f"It is void{_because(standing.why)}."


def _because(why: str) -> str:
    return f": {visible(why)[:MAX_REASON]}" if why else ""
