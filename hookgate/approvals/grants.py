"""Grants: a yes that covers later calls of a conversation, kept in the journal. Knows no request and asks nobody."""

from __future__ import annotations

from collections.abc import Iterable
from secrets import token_hex

from hookgate.approvals.binding import Subject, grant_scope
from hookgate.protocol.approval import Wish
from hookgate.protocol.journal.interfaces import Decisions
from hookgate.protocol.journal.values import StoredGrant


class Grants:
    """For (conversation, who asked, tool, extension, origin of the call). What ends them is said at once and written
    before the next look."""

    def __init__(self, decisions: Decisions) -> None:
        self._decisions = decisions
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
        scope = grant_scope(subject, wish.asker)
        return next((it for it in await self.held(subject.step.session_key) if it.scope == scope), None)

    async def give(self, subject: Subject, wish: Wish, by: str) -> None:
        """Only for a wish that takes grants."""
        if await self.covering(subject, wish) is None:
            whose = f" of the extension {subject.step.extension}" if subject.step.extension else ""
            text = f"every {subject.call.name} call{whose} of this conversation that {wish.asked_by} asks about"
            scope = grant_scope(subject, wish.asker)
            grant = StoredGrant(token_hex(8), scope, by, wish.asker, text, subject.step.session_key)
            await self._decisions.grant(grant)

    async def revoke(self, grant: str) -> bool:
        """Whether there was such a one."""
        return await self._decisions.revoke(grant)
