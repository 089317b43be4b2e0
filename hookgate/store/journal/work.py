"""Claims, transcripts, and the calls of a turn, as sessions ask for them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from hookgate.protocol.chat import Outbound
from hookgate.protocol.codec import canonical
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import (
    AlreadyIntended,
    AnswerKey,
    Claim,
    Completed,
    Conversation,
    Draft,
    Entry,
    Fenced,
    Handed,
    Intent,
    Outcome,
    PolicyChanged,
    ReadSoFar,
    Stored,
)
from hookgate.protocol.values import Message, ToolResult
from hookgate.store.alone import ME
from hookgate.store.journal import claims
from hookgate.store.journal.audit.calls import note_calls, note_intent
from hookgate.store.journal.decisions import find_request
from hookgate.store.journal.encoding import decoded_answer, encoded
from hookgate.store.journal.engine import Engine
from hookgate.store.journal.loading import load, with_stored
from hookgate.store.journal.posting import next_row
from hookgate.store.journal.schema import FORMAT
from hookgate.store.journal.tables import Tables, number_of
from hookgate.store.journal.transcripts import rewind

_REPLY = re.compile(r"\d{1,15}")


class Work:
    def __init__(self, engine: Engine, me: str = ME) -> None:
        self.me = me
        self._engine = engine

    # --- whose it is ---

    async def claim(
        self,
        by: str,
        lease_s: float,
        conversation: Conversation | None = None,
        message: str = "",
        known: ReadSoFar | None = None,
    ) -> Claim | None:
        if message:
            take = partial(claims.claim_message, message=message)
        elif conversation is not None:
            take = partial(claims.claim_conversation, conversation=conversation)
        else:
            take = claims.claim_next
        says = _encoded(() if known is None else known.says)

        def claim(tables: Tables) -> Claim | None:
            taken = take(tables, by=by, lease_s=lease_s)
            if taken is None or known is None:
                return taken
            taken = with_stored(tables, taken, known.fence)
            entered = tables.write(tables.fenced(taken), says) if says and known.is_all(taken) else ()
            return replace(taken, entered=entered) if entered else taken

        return await self._engine.write(claim)

    async def renew(self, claim: Claim, lease_s: float) -> Claim:
        def renew(tables: Tables) -> Claim:
            number, until = tables.fenced(claim), tables.clock() + lease_s
            tables.run("UPDATE conversations SET claimed_until = ? WHERE number = ?", until, number)
            return replace(claim, until=until)

        return await self._engine.write(renew)

    async def release(self, claim: Claim) -> None:
        await self._engine.write(lambda tables: claims.let_go(tables, tables.fenced(claim)))

    # --- the transcript ---

    async def join(self, claim: Claim, message: str, said: Message) -> Entry:
        written = _encoded([Draft(said)])
        return await self._engine.write(lambda tables: _join(tables, claim, message, written), barrier=True)

    async def load(self, conversation: Conversation) -> Stored:
        return await self._engine.read(lambda tables: load(tables, tables.found(conversation)))

    async def append(
        self,
        claim: Claim,
        drafts: Sequence[Draft],
        outbox: Sequence[Outbound] = (),
        audits: Sequence[CallAudit] = (),
    ) -> tuple[Entry, ...]:
        written = _encoded(drafts)

        def append(tables: Tables) -> tuple[Entry, ...]:
            number = tables.fenced(claim)
            note_calls(tables, number, claim, audits)
            # What is said beside it comes after it, whoever reads both again.
            entries = tables.write(number, written)
            tables.post(number, outbox, number_of(claim.message))
            return entries

        return await self._engine.write(append, barrier=bool(outbox))

    async def rewind(self, claim: Claim, to: int) -> None:
        await self._engine.write(lambda tables: rewind(tables, tables.fenced(claim), to))

    # --- calls ---

    async def intend(self, claim: Claim, intent: Intent) -> None:
        await self._engine.write(lambda tables: _intend(tables, claim, intent), barrier=True)

    async def finish(self, claim: Claim, call_id: str, result: ToolResult, duration_ns: int) -> None:
        body = encoded(result)

        def finish(tables: Tables) -> None:
            conversation = tables.fenced(claim)
            tables.run(
                "INSERT INTO calls (conversation, id, reply, duration_ns, format, result) VALUES (?, ?, ?, ?, ?, ?) "
                "ON CONFLICT (conversation, id) DO UPDATE SET "
                "duration_ns = excluded.duration_ns, format = excluded.format, result = excluded.result",
                *(conversation, call_id, _reply_of(tables, conversation, call_id), duration_ns, FORMAT, body),
            )
            tables.write(conversation, ())

        await self._engine.write(finish)

    async def hand_over(self, claim: Claim, call_id: str, outbound: Outbound) -> Handed:
        def hand_over(tables: Tables) -> Handed:
            conversation = tables.fenced(claim)
            sql = "SELECT id, state, receipt FROM outbox WHERE conversation = ? AND call = ?"
            for row, state, why in tables.all(sql, conversation, call_id):
                return Handed(row, why if state == "dead" else "")
            [row] = tables.post(conversation, [outbound], number_of(claim.message))
            tables.run("UPDATE outbox SET call = ? WHERE id = ?", call_id, row)
            tables.write(conversation, ())
            return Handed(row)

        return await self._engine.write(hand_over, barrier=True)

    async def answered(self, claim: Claim, asked: AnswerKey, answer: Answer) -> None:
        row = (_digest(asked), FORMAT, encoded(answer))

        def answered(tables: Tables) -> None:
            conversation, (digest, format_, body) = tables.fenced(claim), row
            sql = (
                "INSERT INTO answers (digest, conversation, at, format, body) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (digest) DO UPDATE SET conversation = excluded.conversation, at = excluded.at, "
                "format = excluded.format, body = excluded.body"
            )
            tables.run(sql, digest, conversation, tables.clock(), format_, body)
            tables.write(conversation, ())

        await self._engine.write(answered, barrier=True)

    async def answer(self, asked: AnswerKey) -> Answer | None:
        sql, digest = "SELECT format, body FROM answers WHERE digest = ?", _digest(asked)
        row = await self._engine.read(lambda tables: tables.one(sql, digest))
        return None if row is None else decoded_answer(row[0], row[1])

    async def complete(
        self,
        claim: Claim,
        outcome: Outcome,
        drafts: Sequence[Draft] = (),
        outbox: Sequence[Outbound] = (),
        read: Sequence[str] = (),
        audits: Sequence[CallAudit] = (),
        why: str = "",
    ) -> Completed:
        written = _encoded(drafts)

        def complete(tables: Tables) -> Completed:
            number, message = tables.fenced(claim), number_of(claim.message)
            note_calls(tables, number, claim, audits)
            posted = tables.post(number, outbox, message)
            entries = tables.write(number, written)
            if message:
                tables.end(message, outcome, why)
            for id_ in read:
                tables.end(number_of(id_), outcome, why)
            claims.return_joined(tables, number)
            claims.let_go(tables, number)
            chats = [(it.chat.channel, it.chat.session_key) for it in outbox[:1]]
            rows = (next_row(tables, *place) for place in chats)
            return Completed(entries, next((it for it in rows if it is not None and it.id == posted[0]), None))

        return await self._engine.write(complete, barrier=True)


def _encoded(drafts: Sequence[Draft]) -> list[tuple[Draft, bytes]]:
    return [(draft, encoded(draft)) for draft in drafts]


def _digest(asked: AnswerKey) -> bytes:
    """Of the whole question."""
    import hashlib

    parts = [asked.subject, asked.stage, asked.hook, asked.content, asked.hook_digest]
    return hashlib.sha256(canonical(parts)).digest()


def _reply_of(tables: Tables, conversation: int, call_id: str) -> int:
    """The entry that the call stands in, by its id; for one that stands in none, the last there is."""
    found = _REPLY.match(call_id)
    if found is not None:
        return int(found[0])
    [written] = tables.one("SELECT written FROM conversations WHERE number = ?", conversation) or (0,)
    return written


def _join(tables: Tables, claim: Claim, message: str, written: list[tuple[Draft, bytes]]) -> Entry:
    conversation, number = tables.fenced(claim), number_of(message)
    row = tables.held(
        "SELECT 1 FROM messages WHERE number = ? AND conversation = ? AND outcome IS NULL AND joined_at = 0",
        number,
        conversation,
    )
    if row is None:
        raise Fenced(f"message {message} is not free to join")
    (entry,) = tables.write(conversation, written)
    tables.run("UPDATE messages SET joined_at = ? WHERE number = ?", entry.number, number)
    tables.passed(number, "running")
    return entry


def _intend(tables: Tables, claim: Claim, intent: Intent) -> None:
    conversation = tables.fenced(claim)
    sql = "SELECT 1 FROM calls WHERE conversation = ? AND id = ? AND intended = 1"
    if tables.one(sql, conversation, intent.call_id):
        raise AlreadyIntended(intent.call_id)
    _compare(tables, intent)
    note_intent(tables, conversation, claim, intent)
    for it in intent.approvals:
        tables.run("UPDATE requests SET state = 'spent' WHERE id = ?", it.request)
    tables.run(
        "INSERT INTO calls (conversation, id, reply, intended, format, intent) VALUES (?, ?, ?, 1, ?, ?) "
        "ON CONFLICT (conversation, id) DO UPDATE SET intended = 1, gone = 0, intent = excluded.intent",
        *(conversation, intent.call_id, _reply_of(tables, conversation, intent.call_id)),
        *(FORMAT, encoded(intent)),
    )
    tables.write(conversation, ())


def _compare(tables: Tables, intent: Intent) -> None:
    """Raises PolicyChanged."""
    for approval in intent.approvals:
        found = find_request(tables, approval.request, held=True)
        if found is None or found.standing.state != "approved":
            raise PolicyChanged("an approval does not hold any more")
        asked = found.standing.request
        if (asked.digest, asked.policy) != (approval.digest, intent.policy):
            raise PolicyChanged("an approval was given for something else, or under other rules")
    for id_ in intent.grants:
        sql = "SELECT 1 FROM grants WHERE id = ? AND (ends_at = 0 OR ends_at > ?)"
        if not tables.held(sql, id_, tables.clock()):
            raise PolicyChanged("a lasting yes has been taken back, or is over")
