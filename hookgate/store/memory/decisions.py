"""Requests that wait for people, what they said, and what they allowed for longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.decisions import Standing, StoredGrant, StoredRequest, Vote
from hookgate.protocol.journal.values import Claim, Row
from hookgate.store.deciding import CHANGED, TAKEN_BACK, TOO_LATE, as_of, decided
from hookgate.store.memory.rows import OutboxRow, RequestRow
from hookgate.store.memory.tables import Tables

UNUSED = ("open", "approved", "refused")


class Decisions:
    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    async def request(self, claim: Claim, request: StoredRequest, outbox: Sequence[Outbound] = ()) -> Standing:
        self._tables.fenced(claim)
        for row in self._tables.requests.values():
            its, state = row.request, self._now(row).state
            if its.conversation != request.conversation or state in ("void", "spent"):
                continue
            if state == "expired":
                # For good, wherever the clock goes: it is asked anew.
                row.state, row.why = state, TOO_LATE
                self._tables.edit_cards(row)
                continue
            if (its.digest, its.policy, its.asker) == (request.digest, request.policy, request.asker):
                return self._now(row)
            if its.call_id == request.call_id and its.asker == request.asker:
                row.state, row.why = "void", CHANGED
                self._tables.edit_cards(row)
        row = RequestRow(request)
        self._tables.requested(row)
        self._tables.post_in_chats(request.conversation.agent, outbox)
        if request.message:
            self._tables.passed(self._tables.messages[request.message], "waiting")
        self._tables.ring()
        return self._now(row)

    async def decide(self, request: str, vote: Vote, outbox: Sequence[Outbound] = ()) -> Standing | None:
        row = self._tables.requests.get(request)
        if row is None:
            return None
        after = decided(self._now(row), vote)
        first = row.state == "open" and after.state == "expired" and vote.voter is None
        if after.counted or first:
            row.state, row.why, row.votes = after.state, after.why, list(after.votes)
            self._tables.edit_cards(row)
            self._tables.post_in_chats(row.request.conversation.agent, outbox if after.state != "open" else ())
            self._tables.ring()
        return after

    async def standing(self, request: str) -> Standing | None:
        row = self._tables.requests.get(request)
        return None if row is None else self._now(row)

    async def asked(self, claim: Claim, call_id: str) -> tuple[Standing, ...]:
        rows = map(self._now, self._tables.requests.values())
        its = (it for it in rows if (it.request.conversation, it.request.call_id) == (claim.conversation, call_id))
        return tuple(it for it in its if it.state in UNUSED)

    async def beginning(self, prefix: str) -> tuple[str, ...]:
        return tuple(id_ for id_ in self._tables.requests if id_.startswith(prefix))[:2]

    async def pending(self, session: str = "") -> tuple[Standing, ...]:
        rows = map(self._now, self._tables.requests.values())
        return tuple(it for it in rows if it.state == "open" and session in ("", it.request.conversation.session))

    async def still_open(self) -> Mapping[str, bool]:
        open_ = ((id_, row) for id_, row in self._tables.requests.items() if row.state == "open")
        return {id_: any(it.given_up for it in row.cards) for id_, row in open_}

    async def void(self, request: str, why: str, outbox: Sequence[Outbound] = ()) -> None:
        row = self._tables.requests.get(request)
        if row is not None and self._now(row).state in ("open", "approved"):
            row.state, row.why = "void", why
            self._tables.edit_cards(row)
            self._tables.post_in_chats(row.request.conversation.agent, outbox)
            self._tables.ring()

    async def shown(self, request: str, chat: Chat, receipt: str) -> None:
        row = self._tables.requests.get(request)
        places = [(it.receipt, it.row.outbound.chat.chat_id) for it in row.cards] if row is not None else []
        if row is None or (receipt, chat.chat_id) in places:
            return
        card = Outbound(chat, row.request.shown.title, kind="notice", request=request)
        there = OutboxRow(Row("", card), receipt=receipt)
        row.cards.append(there)
        self._tables.post_in_chats(row.request.conversation.agent, [card], there)
        self._tables.ring()

    async def given_up(self, request: str) -> tuple[str, ...]:
        row = self._tables.requests.get(request)
        return tuple(it.given_up for it in row.cards if it.given_up) if row is not None else ()

    async def grant(self, grant: StoredGrant) -> None:
        self._tables.grants.setdefault(grant.id, grant)

    async def revoke(self, grant: str) -> bool:
        held = any(it.id == grant for it in await self.grants())
        if held:
            # It stays, so that it is not given again.
            self._tables.grants[grant] = replace(self._tables.grants[grant], until=TAKEN_BACK)
        return held

    async def grants(self, session: str = "") -> tuple[StoredGrant, ...]:
        now = self._tables.clock()
        held = (it for it in self._tables.grants.values() if not it.until or it.until > now)
        return tuple(it for it in held if not session or it.session in ("", session))

    def _now(self, row: RequestRow) -> Standing:
        return as_of(Standing(row.request, row.state, tuple(row.votes), row.why), self._tables.clock())
