"""Requests that wait for people, what they said, and what they allowed for longer."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.journal.values import Claim, Standing, StoredGrant, StoredRequest, Vote
from hookgate.protocol.values import Outbound
from hookgate.store.memory.tables import RequestRow, Tables


class Decisions:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def request(self, claim: Claim, request: StoredRequest, outbox: Sequence[Outbound] = ()) -> Standing:
        thread = self._tables.fenced(claim)
        for row in self._tables.requests.values():
            its = row.request
            if its.conversation != request.conversation or self._now(row) not in ("open", "approved", "refused"):
                continue
            if (its.digest, its.policy, its.asker) == (request.digest, request.policy, request.asker):
                return _standing(row)
            if its.call_id == request.call_id and its.asker == request.asker:
                row.state, row.why = "void", "the call, or the rules for it, changed meanwhile"
        row = RequestRow(request)
        self._tables.requested(row)
        self._tables.post(thread, outbox, request.message)
        if request.message:
            self._tables.passed(self._tables.messages[request.message], "waiting")
        self._tables.ring()
        return _standing(row)

    async def decide(self, request: str, vote: Vote, outbox: Sequence[Outbound] = ()) -> Standing | None:
        row = self._tables.requests.get(request)
        if row is None:
            return None
        if self._now(row) != "open" or any(it.person == vote.person for it in row.votes):
            return _standing(row, counted=False)
        row.votes.append(vote)
        if not vote.approved:
            row.state, row.why = "refused", vote.reason
        elif len(row.votes) >= row.request.required:
            row.state = "approved"
        self._tables.post(self._tables.thread(row.request.conversation), outbox, row.request.message)
        self._tables.ring()
        return _standing(row)

    async def standing(self, request: str) -> Standing | None:
        row = self._tables.requests.get(request)
        if row is not None:
            self._now(row)
        return None if row is None else _standing(row)

    async def beginning(self, prefix: str) -> tuple[str, ...]:
        return tuple(id_ for id_ in self._tables.requests if id_.startswith(prefix))[:2]

    async def pending(self, session: str = "") -> tuple[Standing, ...]:
        rows = [row for row in self._tables.requests.values() if self._now(row) == "open"]
        return tuple(_standing(row) for row in rows if session in ("", row.request.conversation.session))

    async def void(self, request: str, why: str, outbox: Sequence[Outbound] = ()) -> None:
        row = self._tables.requests.get(request)
        if row is not None and self._now(row) in ("open", "approved"):
            row.state, row.why = "void", why
            self._tables.post(self._tables.thread(row.request.conversation), outbox, row.request.message)
            self._tables.ring()

    async def grant(self, grant: StoredGrant) -> None:
        self._tables.grants[grant.id] = grant

    async def revoke(self, grant: str) -> bool:
        return self._tables.grants.pop(grant, None) is not None

    async def grants(self, session: str = "") -> tuple[StoredGrant, ...]:
        now = self._tables.clock()
        held = (it for it in self._tables.grants.values() if not it.until or it.until > now)
        return tuple(it for it in held if not session or it.session in ("", session))

    def _now(self, row: RequestRow) -> str:
        """Its state, expiry included."""
        expires = row.request.expires_at
        if row.state == "open" and expires and expires <= self._tables.clock():
            row.state, row.why = "expired", "nobody answered in time"
        return row.state


def _standing(row: RequestRow, *, counted: bool = True) -> Standing:
    return Standing(row.request, row.state, tuple(row.votes), row.why, counted)
