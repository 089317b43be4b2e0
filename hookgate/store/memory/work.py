"""Claims, transcripts, and the calls of a turn."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.protocol.chat import Outbound
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.hook.answers import Answer
from hookgate.protocol.journal.audit import CallAudit
from hookgate.protocol.journal.values import (
    AlreadyIntended,
    AnswerKey,
    CallState,
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
from hookgate.store.attempts import GIVEN_UP, MAX_ATTEMPTS
from hookgate.store.memory.rows import MessageRow, Thread
from hookgate.store.memory.tables import Tables


class Work:
    me = ME

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    # --- whose it is ---

    async def claim(
        self,
        by: str,
        lease_s: float,
        conversation: Conversation | None = None,
        message: str = "",
        known: ReadSoFar | None = None,
    ) -> Claim | None:
        claim = self._claim(by, lease_s, conversation, message)
        if claim is None or known is None:
            return claim
        its, thread = claim.conversation, self._tables.thread(claim.conversation)
        claim = replace(claim, latest=self._tables.current(its.session, its.agent) == its)
        if claim.after != known.fence or claim.first:
            claim = replace(claim, stored=self._stored(thread))
        entered = self._tables.write(thread, known.says) if known.says and known.is_all(claim) else ()
        return replace(claim, entered=entered)

    def _claim(self, by: str, lease_s: float, conversation: Conversation | None, message: str) -> Claim | None:
        if conversation is not None and not message:
            cut_off = any(it.begun and it.conversation == conversation for it in self._tables.waiting())
            return None if cut_off else self._take(conversation, None, by, lease_s)
        while row := self._free(message):
            claim = self._take(row.conversation, row, by, lease_s)
            if claim is not None:
                return claim
        return None

    def _free(self, message: str) -> MessageRow | None:
        """This one, or the next of all, if it is the next of its conversation, and nobody has that."""
        tables, first = self._tables, dict[Conversation, MessageRow]()
        for row in tables.waiting():
            first.setdefault(row.conversation, row)
        rows = (it for it in first.values() if message in ("", it.id))
        return next((it for it in rows if not tables.claimed(tables.thread(it.conversation))), None)

    def _take(self, conversation: Conversation, row: MessageRow | None, by: str, lease_s: float) -> Claim | None:
        thread = self._tables.thread(conversation)
        if self._tables.claimed(thread):
            return None
        self._bury(thread)
        if row is not None:
            if row.attempts >= MAX_ATTEMPTS:
                self._give_up(row, thread)
                return None
            row.begun = True
            self._tables.passed(row, "running")
        return self._begin(thread, by, lease_s, row)

    def _bury(self, thread: Thread) -> None:
        """A claim that nobody has ended counts as an attempt, unless a step was stored under it."""
        claim, thread.claim = thread.claim, None
        row = self._tables.messages.get(claim.message) if claim is not None else None
        if row is not None:
            row.attempts = 0 if thread.moved else row.attempts + 1

    def _give_up(self, row: MessageRow, thread: Thread) -> None:
        self._tables.post(thread, [Outbound(row.inbound.chat, GIVEN_UP, kind="error")], row.id)
        self._tables.end(row, "dead")
        self._return_joined(thread)
        self._tables.ring()

    def _begin(self, thread: Thread, by: str, lease_s: float, row: MessageRow | None = None) -> Claim:
        self._tables.fences += 1
        after, thread.fence, thread.moved = thread.fence, self._tables.fences, False
        claim = Claim(thread.conversation, thread.fence, by, self._tables.clock() + lease_s, after=after)
        if row is not None:
            known = {"message": row.id, "inbound": row.inbound, "first": max(row.first, 0)}
            claim = replace(claim, **known, attempt=row.attempts + 1, stopped=row.stopped)
        thread.claim = claim
        return claim

    async def renew(self, claim: Claim, lease_s: float) -> Claim:
        thread = self._tables.fenced(claim)
        thread.claim = replace(claim, until=self._tables.clock() + lease_s)
        return thread.claim

    async def release(self, claim: Claim) -> None:
        self._tables.let_go(self._tables.fenced(claim))
        self._tables.ring()

    # --- the transcript ---

    async def join(self, claim: Claim, message: str, said: Message) -> Entry:
        thread, row = self._tables.fenced(claim), self._tables.messages[message]
        if row.outcome is not None or row.joined_at or row.conversation != claim.conversation:
            raise Fenced(f"message {message} is not free to join")
        (entry,) = self._tables.write(thread, [Draft(said)])
        row.joined_at = entry.number
        thread.joined.append(message)
        self._tables.passed(row, "running")
        return entry

    async def load(self, conversation: Conversation) -> Stored:
        return self._stored(self._tables.thread(conversation))

    def _stored(self, thread: Thread) -> Stored:
        entries, summary = thread.live, thread.summary
        if summary is not None:
            entries = [summary, *(it for it in entries if it.number >= summary.upto and not it.upto)]
        joined = tuple((row.id, row.joined_at) for row in self._joined(thread))
        return Stored(tuple(entries), tuple(thread.calls.items()), joined)

    async def append(
        self,
        claim: Claim,
        drafts: Sequence[Draft],
        outbox: Sequence[Outbound] = (),
        audits: Sequence[CallAudit] = (),
    ) -> tuple[Entry, ...]:
        """Records are for a chain that outlives the process: this one keeps none."""
        thread = self._tables.fenced(claim)
        self._tables.post(thread, outbox, claim.message)
        entries = self._tables.write(thread, drafts)
        if outbox:
            self._tables.ring()
        return entries

    async def rewind(self, claim: Claim, to: int) -> None:
        thread = self._tables.fenced(claim)
        thread.live = [it for it in thread.live if it.number < to]
        thread.summary = next((it for it in reversed(thread.live) if it.upto), None)
        for row in self._tables.messages.values():
            if row.conversation == claim.conversation and row.first >= to:
                row.first = -row.first
        kept = {record.id for entry in thread.live for record in entry.calls}
        thread.calls = {id_: state for id_, state in thread.calls.items() if id_ in kept}

    # --- calls ---

    async def intend(self, claim: Claim, intent: Intent) -> None:
        tables, thread = self._tables, self._tables.fenced(claim)
        if thread.calls.get(intent.call_id, CallState()).intended:
            raise AlreadyIntended(intent.call_id)
        spent = [tables.requests.get(it.request) for it in intent.approvals]
        for row, approval in zip(spent, intent.approvals, strict=True):
            if row is None or row.state != "approved":
                raise PolicyChanged("an approval does not hold any more")
            if (row.request.digest, row.request.policy) != (approval.digest, intent.policy):
                raise PolicyChanged("an approval was given for something else, or under other rules")
        now = tables.clock()
        for id_ in intent.grants:
            grant = tables.grants.get(id_)
            if grant is None or (grant.until and grant.until <= now):
                raise PolicyChanged("a lasting yes has been taken back, or is over")
        for row in filter(None, spent):
            row.state = "spent"
        thread.calls[intent.call_id] = CallState(intended=True, begun=intent.call)
        thread.moved = True

    async def finish(self, claim: Claim, call_id: str, result: ToolResult, duration_ns: int) -> None:
        thread = self._tables.fenced(claim)
        before = thread.calls.get(call_id, CallState())
        thread.calls[call_id] = CallState(before.intended, result, duration_ns)
        thread.moved = True

    async def hand_over(self, claim: Claim, call_id: str, outbound: Outbound) -> Handed:
        thread = self._tables.fenced(claim)
        if call_id not in thread.handed:
            [thread.handed[call_id]] = self._tables.post(thread, [outbound], claim.message)
            thread.moved = True
            self._tables.ring()
        stored = thread.handed[call_id]
        return Handed(stored.row.id, stored.given_up)

    async def answered(self, claim: Claim, asked: AnswerKey, answer: Answer) -> None:
        self._tables.fenced(claim).moved = True
        self._tables.answers[asked] = answer

    async def answer(self, asked: AnswerKey) -> Answer | None:
        return self._tables.answers.get(asked)

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
        tables, thread = self._tables, self._tables.fenced(claim)
        posted = tables.post(thread, outbox, claim.message)
        entries, first = tables.write(thread, drafts), 0
        if claim.message:
            row = tables.messages[claim.message]
            first = max(row.first, 0)
            tables.end(row, outcome, why)
        for id_ in read:
            tables.end(tables.messages[id_], outcome, why)
        self._return_joined(thread)
        tables.trim(thread, first or thread.written)
        tables.let_go(thread)
        tables.ring()
        following = tables.next_row(outbox[0].chat) if outbox else None
        return Completed(entries, following if following and following.id == posted[0].row.id else None)

    def _joined(self, thread: Thread) -> list[MessageRow]:
        return list(filter(None, map(self._tables.unfinished.get, thread.joined)))

    def _return_joined(self, thread: Thread) -> None:
        """What joined a turn and did not end with it is said in a turn of its own, and there alone."""
        for row in self._joined(thread):
            thread.live = [it for it in thread.live if it.number != row.joined_at]
            row.joined_at = 0
        thread.joined.clear()
