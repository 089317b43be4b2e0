"""Requests that wait for people, what they said, and what they allowed for longer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.decisions import Standing, StoredGrant, StoredRequest, Vote
from hookgate.protocol.journal.values import Claim
from hookgate.store.deciding import CHANGED, TAKEN_BACK, as_of, decided
from hookgate.store.journal.audit.chain import note
from hookgate.store.journal.encoding import decoded, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.posting import post_in_chats
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.statements import Row
from hookgate.store.journal.tables import Tables, number_of

COLUMNS = "conversation, message, state, why, expires_at, format, request, votes"
NEW_REQUEST = """
    INSERT INTO requests
    (id, conversation, message, call_id, digest, state, expires_at, at, format, request, votes)
    VALUES (?, ?, ?, ?, ?, 'open', ?, ?, ?, ?, ?)
"""

NEW_GRANT = """
    INSERT INTO grants (id, session, ends_at, format, body) VALUES (?, ?, ?, ?, ?) ON CONFLICT (id) DO NOTHING
"""
STILL_OPEN = """
    SELECT r.id, EXISTS (
        SELECT 1 FROM outbox o WHERE o.request = r.id AND o.request <> '' AND o.edits = '' AND o.state = 'dead'
    ) FROM requests r WHERE r.state = 'open'
"""
EXPIRED = "UPDATE requests SET state = 'expired', why = ? WHERE id = ? AND state = 'open'"


@dataclass(frozen=True, slots=True)
class Votes:
    votes: tuple[Vote, ...] = ()


class Decisions:
    def __init__(self, engine: Engine) -> None:
        self._engine = engine

    async def request(self, claim: Claim, request: StoredRequest, outbox: Sequence[Outbound] = ()) -> Standing:
        return await self._engine.write(lambda tables: _request(tables, claim, request, outbox), barrier=True)

    async def decide(self, request: str, vote: Vote, outbox: Sequence[Outbound] = ()) -> Standing | None:
        return await self._engine.write(lambda tables: _decide(tables, request, vote, outbox), barrier=True)

    async def standing(self, request: str) -> Standing | None:
        found = await self._engine.read(lambda tables: find_request(tables, request))
        return None if found is None else found.standing

    async def asked(self, claim: Claim, call_id: str) -> tuple[Standing, ...]:
        return await self._engine.read(lambda tables: _asked(tables, claim, call_id))

    async def beginning(self, prefix: str) -> tuple[str, ...]:
        sql = "SELECT id FROM requests WHERE id >= ? AND id < ? LIMIT 2"
        rows = await self._engine.read(lambda tables: tables.all(sql, prefix, f"{prefix}\U0010ffff"))
        return tuple(id_ for (id_,) in rows)

    async def pending(self, session: str = "") -> tuple[Standing, ...]:
        open_ = await self._engine.read(open_requests)
        return tuple(it for it in open_ if session in ("", it.request.conversation.session))

    async def still_open(self) -> Mapping[str, bool]:
        return {id_: bool(lost) for id_, lost in await self._engine.read(lambda tables: tables.all(STILL_OPEN))}

    async def void(self, request: str, why: str, outbox: Sequence[Outbound] = ()) -> None:
        def void(tables: Tables) -> None:
            found = find_request(tables, request, held=True)
            if found is not None and found.standing.state in ("open", "approved"):
                _become(tables, request, "void", why)
                tables.edit_cards(request)
                post_in_chats(tables, found.standing.request.conversation.agent, outbox)

        await self._engine.write(void, barrier=True)

    async def shown(self, request: str, chat: Chat, receipt: str) -> None:
        await self._engine.write(lambda tables: _shown(tables, request, chat, receipt))

    async def given_up(self, request: str) -> tuple[str, ...]:
        sql = "SELECT receipt FROM outbox WHERE request = ? AND request <> '' AND edits = '' AND state = 'dead'"
        return tuple(why for (why,) in await self._engine.read(lambda tables: tables.all(sql, request)))

    async def grant(self, grant: StoredGrant) -> None:
        sql, body = NEW_GRANT, encoded(grant)
        row = (grant.id, grant.session, grant.until, FORMAT, body)

        def give(tables: Tables) -> None:
            if tables.run(sql, *row):
                said = {"kind": "granted", "grant": grant.id, "scope": grant.scope, "until": grant.until}
                note(tables, 0, said, by=grant.by, to=grant.to, text=grant.text)

        await self._engine.write(give, barrier=True)

    async def revoke(self, grant: str) -> bool:
        def revoke(tables: Tables) -> bool:
            # It stays, so that it is not given again.
            sql = "UPDATE grants SET ends_at = ? WHERE id = ? AND (ends_at = 0 OR ends_at > ?)"
            found = tables.run(sql, TAKEN_BACK, grant, tables.clock()) > 0
            if found:
                note(tables, 0, {"kind": "revoked", "grant": grant})
            return found

        return await self._engine.write(revoke, barrier=True)

    async def grants(self, session: str = "") -> tuple[StoredGrant, ...]:
        sql = (
            "SELECT format, body FROM grants "
            "WHERE (? = '' OR session IN ('', ?)) AND (ends_at = 0 OR ends_at > ?) ORDER BY id"
        )
        rows = await self._engine.read(lambda tables: tables.all(sql, session, session, tables.clock()))
        return tuple(decoded(StoredGrant, format_, body) for format_, body in rows)


@dataclass(frozen=True, slots=True)
class FoundRequest:
    """A stored request; `conversation` and `message` are numbers."""

    conversation: int
    message: int
    standing: Standing


def open_requests(tables: Tables) -> tuple[Standing, ...]:
    """Oldest first."""
    rows = tables.all(f"SELECT {COLUMNS} FROM requests WHERE state = 'open' ORDER BY rowid")  # noqa: S608
    found = (_found(tables, row).standing for row in rows)
    return tuple(it for it in found if it.state == "open")


def _asked(tables: Tables, claim: Claim, call_id: str) -> tuple[Standing, ...]:
    sql = (
        f"SELECT {COLUMNS} FROM requests WHERE call_id = ? "  # noqa: S608
        "AND state IN ('open', 'approved', 'refused') ORDER BY rowid"
    )
    found = (_found(tables, row).standing for row in tables.all(sql, call_id))
    return tuple(it for it in found if it.state != "expired" and it.request.conversation == claim.conversation)


def find_request(tables: Tables, request: str, *, held: bool = False) -> FoundRequest | None:
    one = tables.held if held else tables.one
    row = one(f"SELECT {COLUMNS} FROM requests WHERE id = ?", request)  # noqa: S608
    return None if row is None else _found(tables, row)


def _found(tables: Tables, row: Row) -> FoundRequest:
    """As it stands now."""
    conversation, message, state, why, _, format_, request, votes = row
    said = decoded(Votes, format_, votes).votes
    standing = Standing(decoded(StoredRequest, format_, request), state, said, why)
    return FoundRequest(conversation, message, as_of(standing, tables.clock()))


def _become(tables: Tables, request: str, state: str, why: str) -> None:
    tables.run("UPDATE requests SET state = ?, why = ? WHERE id = ?", state, why, request)


def _shown(tables: Tables, request: str, chat: Chat, receipt: str) -> None:
    found = find_request(tables, request)
    if found is None:
        return
    sql = (
        "SELECT format, outbound FROM outbox "
        "WHERE request = ? AND edits = '' AND channel = ? AND receipt = ? AND state = 'delivered'"
    )
    cards = (decoded(Outbound, *row).chat.chat_id for row in tables.all(sql, request, chat.channel, receipt))
    if chat.chat_id in cards:
        return
    card = Outbound(chat, found.standing.request.shown.title, kind="notice", request=request)
    row = tables.new_row(found.conversation, card, 0, "delivered")
    tables.run("UPDATE outbox SET receipt = ? WHERE id = ?", receipt, row)
    tables.new_row(found.conversation, card, 0, edits=row)


def _request(tables: Tables, claim: Claim, request: StoredRequest, outbox: Sequence[Outbound]) -> Standing:
    conversation, message = tables.fenced(claim), number_of(request.message)
    stored = tables.all(
        f"SELECT {COLUMNS} FROM requests WHERE conversation = ? AND (digest = ? OR call_id = ?) "  # noqa: S608
        "AND state IN ('open', 'approved', 'refused') ORDER BY rowid",
        conversation,
        request.digest,
        request.call_id,
    )
    for found in (_found(tables, row) for row in stored):
        its = found.standing.request
        if found.standing.state == "expired":
            # For good, wherever the clock goes: it is asked anew.
            tables.run(EXPIRED, found.standing.why, its.id)
            tables.edit_cards(its.id)
            continue
        if its.asker != request.asker:
            continue
        if (its.digest, its.policy) == (request.digest, request.policy):
            return found.standing
        if its.call_id == request.call_id:
            _become(tables, its.id, "void", CHANGED)
            tables.edit_cards(its.id)
    key = (request.id, conversation, message, request.call_id, request.digest)
    asked = {"request": request.id, "digest": request.digest, "policy": request.policy, "asker": request.asker}
    # As people were shown it: the record is for others too.
    tool = (request.shown.unredacted or request.shown).call.name
    arguments = canonical(request.shown.call.arguments).decode("utf-8", "replace")
    note(tables, conversation, {"kind": "asked", **asked}, tool=tool, arguments=arguments)
    tables.run(NEW_REQUEST, *key, request.expires_at, tables.clock(), FORMAT, encoded(request), encoded(Votes()))
    post_in_chats(tables, request.conversation.agent, outbox)
    if message:
        tables.passed(message, "waiting")
    return Standing(request, "open")


def _decide(tables: Tables, request: str, vote: Vote, outbox: Sequence[Outbound]) -> Standing | None:
    found = find_request(tables, request, held=True)
    if found is None:
        return None
    after, agent = decided(found.standing, vote), found.standing.request.conversation.agent
    if not after.counted:
        if after.state == "expired" and vote.voter is None and tables.run(EXPIRED, after.why, request):
            tables.edit_cards(request)
            post_in_chats(tables, agent, outbox)
        return after
    said = {"kind": "decided", "request": request, "approved": vote.approved, "grant": vote.grant}
    who = str(vote.voter) if vote.voter is not None else ""
    texts = {"person": vote.person, "id": who, "reason": vote.reason}
    note(tables, found.conversation, {**said, "state": after.state}, **texts)
    sql = "UPDATE requests SET state = ?, why = ?, votes = ? WHERE id = ?"
    tables.run(sql, after.state, after.why, encoded(Votes(after.votes)), request)
    tables.edit_cards(request)
    post_in_chats(tables, agent, outbox if after.state != "open" else ())
    return after
