"""Grants: a yes that covers later calls of whoever asked, kept in the journal. Knows no request and asks nobody."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from hookgate.approvals.binding import Subject, grant_scope
from hookgate.approvals.people import requester
from hookgate.protocol.approval import Voter, Wish
from hookgate.protocol.chat import Chat
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import Decisions, StoredGrant, Vote
from hookgate.protocol.values import ToolCall

HOUR_S = 3600.0
Parts = Callable[[ToolCall], tuple[str, ...] | None]
"""What a grant for some arguments alone goes by: the words of one plain command, the folders of a path; None: that
cannot be told."""


Enough = Callable[[Wish, Chat, Iterable[Voter]], bool]
"""Whether those who said yes may still decide what is wished for in a chat, and are as many as it takes."""


@dataclass(frozen=True)
class Extent:
    """What bounds grants besides the call: where tools work, the wall clock, and the parts of arguments."""

    directory: str
    clock: Callable[[], float]
    parts: Parts = lambda _call: None


class Grants:
    """For (conversation, whoever asked, asker, tool, agent, extension, origin of the call). What ends them is said at
    once and written before the next look."""

    def __init__(self, decisions: Decisions, extent: Extent, enough: Enough) -> None:
        self._decisions = decisions
        self._extent = extent
        self._enough = enough
        self._ended = set[str]()
        """Sessions that began anew, and askers that ask no more."""

    def end(self, names: Iterable[str]) -> None:
        """Those of these sessions and askers are void."""
        self._ended.update(names)

    async def held(self, session: str = "") -> tuple[StoredGrant, ...]:
        """In one session or all."""
        ended = frozenset(self._ended)
        for grant in await self._decisions.grants() if ended else ():
            if not ended.isdisjoint((grant.session, grant.asker)):
                await self._decisions.revoke(grant.id)
        self._ended -= ended
        return await self._decisions.grants(session)

    async def covering(self, subject: Subject, wish: Wish) -> StoredGrant | None:
        if wish.once:
            return None
        scopes = {self._scope(subject, wish, everywhere=it) for it in (False, True)}
        held = [it for it in await self.held(subject.step.session_key) if it.scope in scopes]
        held = [it for it in held if self._enough(wish, subject.step.chat, it.voters)]
        parts = self._extent.parts(subject.call) if any(it.prefix for it in held) else None
        return next((it for it in held if not it.prefix or begins(parts, it.prefix)), None)

    async def give(self, subject: Subject, wish: Wish, votes: Sequence[Vote], request: str) -> None:
        """Only for a wish that takes grants. Each request gives one: what is taken back stays so, come what may.
        `votes`: each a yes, as far as the last one reaches."""
        if await self.covering(subject, wish) is not None:
            return
        vote = votes[-1]
        everywhere, step = vote.grant == "always", subject.step
        until = self._extent.clock() + HOUR_S if vote.grant == "1h" else 0.0
        grant = StoredGrant(
            id=request,
            scope=self._scope(subject, wish, everywhere=everywhere),
            by=vote.name,
            asker=wish.asker,
            text=_said(subject, wish, vote),
            session="" if everywhere else step.session_key,
            until=until,
            to=str(requester(step.chat)),
            prefix=vote.prefix,
            voters=tuple(it.voter for it in votes if it.voter is not None),
        )
        await self._decisions.grant(grant)

    def narrowed(self, call: ToolCall, within: str) -> tuple[str, ...]:
        """What a grant for calls such as this one, but only within there, goes by; empty: that cannot be told, or it
        would not cover this call itself."""
        prefix = self._extent.parts(_within(call, within))
        return prefix if prefix and begins(self._extent.parts(call), prefix) else ()

    async def revoke(self, grant: str) -> bool:
        """Whether there was such a one."""
        return await self._decisions.revoke(grant)

    def _scope(self, subject: Subject, wish: Wish, *, everywhere: bool) -> str:
        place = "" if everywhere else subject.step.session_key
        return grant_scope(subject, wish.asker, place, self._extent.directory)


def begins(parts: tuple[str, ...] | None, prefix: tuple[str, ...]) -> bool:
    return parts is not None and parts[: len(prefix)] == prefix


NARROWED = ("command", "path")
"""The arguments by which a grant can be narrowed."""


def _within(call: ToolCall, within: str) -> ToolCall:
    arguments = {name: within for name in NARROWED if name in call.arguments}
    return ToolCall(call.id, call.name, arguments)


def _said(subject: Subject, wish: Wish, vote: Vote) -> str:
    whose = f" of the extension {subject.step.extension}" if subject.step.extension else ""
    where = "" if vote.grant == "always" else " of this conversation"
    within = f" that begins with {' '.join(vote.prefix)}" if vote.prefix else ""
    return f"every {subject.call.name} call{whose}{where} that {wish.asked_by} asks about{within}"
