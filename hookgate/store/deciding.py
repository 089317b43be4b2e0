"""What a request comes to by time and by votes: the same for every engine. Keeps nothing."""

from __future__ import annotations

from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.decisions import Standing, Vote

CHANGED = "the call, or the rules for it, changed meanwhile"
TOO_LATE = "nobody answered in time"
TAKEN_BACK = 1.0
"""When a grant that was taken back has ended: long ago, whatever clocks say."""


def as_of(standing: Standing, now: float) -> Standing:
    """Nobody needs to write down that its time is over."""
    expires_at = standing.request.expires_at
    if standing.state != "open" or not expires_at or expires_at > now:
        return standing
    return replace(standing, state="expired", why=TOO_LATE)


def decided(before: Standing, vote: Vote) -> Standing:
    """With the vote, if it counts: a no decides at once, also of whoever has said yes before; as many yes as are
    required do, and each person has one."""
    if before.state != "open" or (vote.approved and any(it.person == vote.person for it in before.votes)):
        return replace(before, counted=False)
    after = replace(before, votes=(*before.votes, vote))
    if not vote.approved:
        return replace(after, state="refused", why=vote.reason)
    return replace(after, state="approved") if len(after.votes) >= before.request.required else after
