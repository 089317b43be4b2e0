"""The journal's promises, for every engine: driven at random against a plain model of what has to be true."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar, cast

import pytest
import trio
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule

from hookgate.protocol.approval import ApprovalRequest
from hookgate.protocol.chat import Chat, Inbound, Outbound
from hookgate.protocol.journal.decisions import StoredRequest, Vote
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import (
    AlreadyIntended,
    Approval,
    Arrival,
    Claim,
    Draft,
    Fenced,
    Intent,
    PolicyChanged,
)
from hookgate.protocol.values import Message, ToolCall, ToolResult
from hookgate.store.attempts import GIVEN_UP, MAX_ATTEMPTS
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.guest import Guest

CHATS = ("1", "2")
LEASE_S = 1e6
T = TypeVar("T")


@dataclass
class Told:
    """What people and tools must be able to count on, of one message."""

    chat: str
    text: str
    outcome: str = ""
    stopped: bool = False
    deaths: int = 0
    first: int = 0


@dataclass
class Model:
    messages: dict[str, Told] = field(default_factory=dict[str, Told])
    transcripts: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    written: dict[str, int] = field(default_factory=dict[str, int])
    generation: dict[str, int] = field(default_factory=dict[str, int])
    rows: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    delivered: dict[str, list[str]] = field(default_factory=dict[str, list[str]])
    intended: set[str] = field(default_factory=set[str])
    spent: set[str] = field(default_factory=set[str])


class JournalMachine(RuleBasedStateMachine):
    """One gateway that works on one claim for each conversation, and dies at any moment."""

    claims = Bundle("claims")
    stale = Bundle("stale")

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.guest = Guest()
        self.journal = self.open()
        self.model = Model()
        self.keys = 0
        self.calls = 0
        self.requests = 0
        self.held: dict[str, Claim] = {}
        self.moved = set[str]()
        self.fences: dict[str, int] = {}

    def teardown(self) -> None:
        self.guest.close()

    def open(self) -> Journal:
        raise NotImplementedError

    def reopen(self) -> None:
        """As after the death of the gateway that had it."""
        raise NotImplementedError

    # --- what comes in ---

    @rule(chat=st.sampled_from(CHATS), twice=st.booleans())
    def a_message_is_accepted_once_however_often_it_comes(self, chat: str, twice: bool) -> None:
        self.keys += 1
        text = f"m{self.keys}"
        arrival = Arrival(Inbound(Chat("test", chat), text), "agent", text, offset=text)
        accepted = self.guest.call(self.journal.intake.accept, arrival)
        assert not accepted.known
        if twice:
            again = self.guest.call(self.journal.intake.accept, arrival)
            assert (again.id, again.known) == (accepted.id, True)
        assert accepted.conversation.generation == self.model.generation.get(chat, 0)
        self.model.messages[accepted.id] = Told(chat, text)

    @rule(chat=st.sampled_from(CHATS))
    def a_stop_means_what_runs_or_else_what_comes_next(self, chat: str) -> None:
        meant = self._command(chat, "stop")
        unfinished = [id_ for id_, it in self.model.messages.items() if it.chat == chat and not it.outcome]
        now = self.model.generation.get(chat, 0)
        current = [it for it in self.held.values() if it.conversation.generation == now]
        running = [it.message for it in current if it.message in unfinished]
        assert set(meant) == set(running or unfinished[:1])

    @rule(chat=st.sampled_from(CHATS))
    def a_new_conversation_means_all_that_is_unfinished(self, chat: str) -> None:
        meant = self._command(chat, "new")
        self.model.generation[chat] = self.model.generation.get(chat, 0) + 1
        assert set(meant) == {id_ for id_, it in self.model.messages.items() if it.chat == chat and not it.outcome}

    def _command(self, chat: str, effect: str) -> tuple[str, ...]:
        self.keys += 1
        inbound = Inbound(Chat("test", chat), f"/{effect}")
        arrival = Arrival(inbound, "agent", f"c{self.keys}", kind="command", effect=effect)  # type: ignore[arg-type]
        accepted = self.guest.call(self.journal.intake.accept, arrival)
        self.guest.call(self.journal.intake.settle, accepted.id, "dropped")
        for id_ in accepted.meant:
            self.model.messages[id_].stopped = True
        return accepted.meant

    # --- turns ---

    @rule(target=claims)
    def the_oldest_unfinished_message_is_claimed(self) -> Claim | None:
        claim = self.guest.call(self.journal.work.claim, "gateway", LEASE_S)
        self._count_dead_letters()
        if claim is None:
            free = [it for it in self.model.messages.values() if not it.outcome and self._free(it)]
            assert not free
            return None
        told = self.model.messages[claim.message]
        assert not told.outcome
        assert claim.attempt == told.deaths + 1
        assert claim.stopped == told.stopped
        assert claim.conversation.id not in self.held
        assert claim.first == told.first
        # 0: nothing was stored there, so there was nothing to miss.
        assert claim.after in (self.fences.get(claim.conversation.id, claim.after), 0)
        self.fences[claim.conversation.id] = claim.fence
        self.held[claim.conversation.id] = claim
        self.moved.discard(claim.conversation.id)
        return claim

    def _count_dead_letters(self) -> None:
        """A message whose claims died three times without a new step is one, and its chat is told."""
        for id_, told in self.model.messages.items():
            if not told.outcome and self.guest.call(self.journal.books.where, id_)[0].passages[-1].what == "dead":
                assert told.deaths >= MAX_ATTEMPTS
                told.outcome = "dead"
                self.model.rows.setdefault(told.chat, []).append(GIVEN_UP)

    def _free(self, told: Told) -> bool:
        return not any(self.model.messages[it.message].chat == told.chat for it in self.held.values())

    @rule(claim=claims, posts=st.booleans())
    def an_entry_is_appended(self, claim: Claim | None, posts: bool) -> None:
        if claim is None:
            return
        self.keys += 1
        text = f"e{self.keys}"
        outbox = [Outbound(Chat("test", self._chat(claim)), text)] if posts else []
        drafts = [Draft(Message("user", text))]
        for (entry,) in self._written(claim, self.journal.work.append, claim, drafts, outbox):
            id_ = claim.conversation.id
            self.model.transcripts.setdefault(id_, []).append(text)
            self.model.written[id_] = self.model.written.get(id_, 0) + 1
            assert entry.number == self.model.written[id_]
            told = self.model.messages[claim.message]
            told.first = told.first or entry.number
            if posts:
                self.model.rows.setdefault(self._chat(claim), []).append(text)

    @rule(claim=claims, count=st.integers(1, 3))
    def entries_are_taken_back(self, claim: Claim | None, count: int) -> None:
        if claim is None:
            return
        stored = self.guest.call(self.journal.work.load, claim.conversation).entries
        if not stored:
            return
        to = stored[-min(count, len(stored))].number
        if self._written(claim, self.journal.work.rewind, claim, to):
            id_ = claim.conversation.id
            kept = sum(entry.number < to for entry in stored)
            self.model.transcripts[id_] = self.model.transcripts[id_][:kept]
            for told in self.model.messages.values():
                told.first = 0 if told.chat == self._chat(claim) and told.first >= to else told.first

    @rule(claim=claims, approve=st.booleans(), again=st.booleans())
    def a_call_that_changes_state_is_intended_once_and_spends_its_approval(
        self, claim: Claim | None, approve: bool, again: bool
    ) -> None:
        if claim is None:
            return
        self.calls += 1
        self.requests += 1
        call_id, id_ = f"r{self.calls}.0", f"A{self.requests}"
        call, chat = ToolCall(call_id, "t", {}), Chat("test", self._chat(claim))
        shown = ApprovalRequest(id_, chat, call, "rule:r", "Run t?", "", (), 60.0, f"d{call_id}")
        bound = (claim.conversation, claim.message, call_id, f"d{call_id}", "p1", "rule:r")
        request = StoredRequest(id_, *bound, shown)
        if not self._written(claim, self.journal.decisions.request, claim, request):
            return
        self.guest.call(self.journal.decisions.decide, id_, Vote("ann", approve))
        late = self.guest.call(self.journal.decisions.decide, id_, Vote("bob", not approve))
        assert late is not None
        assert not late.counted
        intent = Intent(call_id, "p1", (Approval(id_, f"d{call_id}"),))
        if not approve:
            with pytest.raises(PolicyChanged):
                self.guest.call(self.journal.work.intend, claim, intent)
            return
        self._written(claim, self.journal.work.intend, claim, intent)
        assert id_ not in self.model.spent
        self.model.spent.add(id_)
        self.model.intended.add(call_id)
        if again:
            with pytest.raises(AlreadyIntended):
                self.guest.call(self.journal.work.intend, claim, intent)
            with pytest.raises(PolicyChanged):
                self.guest.call(self.journal.work.intend, claim, replace(intent, call_id=f"{call_id}x"))
        self.guest.call(self.journal.work.finish, claim, call_id, ToolResult("done"), 5)
        state = self.guest.call(self.journal.work.load, claim.conversation).call(call_id)
        assert (state.intended, state.result) == (True, ToolResult("done"))

    @rule(claim=consumes(claims))
    def a_turn_is_completed(self, claim: Claim | None) -> None:
        if claim is None:
            return
        text = f"answer to {claim.message}"
        outbox = [Outbound(Chat("test", self._chat(claim)), text)]
        done = self._written(
            claim, self.journal.work.complete, claim, "answered", [Draft(Message("assistant", text))], outbox
        )
        if done:
            id_ = claim.conversation.id
            self.model.messages[claim.message].outcome = "answered"
            self.model.transcripts.setdefault(id_, []).append(text)
            self.model.written[id_] = self.model.written.get(id_, 0) + 1
            self.model.rows.setdefault(self._chat(claim), []).append(text)
            del self.held[id_]

    @rule(claim=consumes(claims))
    def a_turn_is_let_go(self, claim: Claim | None) -> None:
        if claim is not None and self._written(claim, self.journal.work.release, claim):
            del self.held[claim.conversation.id]

    @rule()
    def the_gateway_dies(self) -> None:
        for id_, claim in self.held.items():
            told = self.model.messages[claim.message]
            told.deaths = 0 if id_ in self.moved else told.deaths + 1
        self.reopen()
        self.held.clear()
        self.fences.clear()

    # --- out ---

    @rule(fails=st.booleans())
    def what_is_due_is_sent_in_order(self, fails: bool) -> None:
        for row in self.guest.call(self.journal.posting.outgoing, "test"):
            chat = row.outbound.chat.chat_id
            if fails:
                self.guest.call(self.journal.posting.failed, row.id, "429", self.time + 5)
                assert row.id not in [it.id for it in self.guest.call(self.journal.posting.outgoing, "test")]
                self.time += 6
            self.guest.call(self.journal.posting.sent, row.id, "r")
            self.guest.call(self.journal.posting.sent, row.id, "twice")
            self.model.delivered.setdefault(chat, []).append(row.outbound.text)

    # --- what must always be true ---

    @invariant()
    def a_transcript_is_what_was_written_and_not_taken_back(self) -> None:
        for claim in self.held.values():
            entries = self.guest.call(self.journal.work.load, claim.conversation).entries
            assert [it.message.content for it in entries] == self.model.transcripts.get(claim.conversation.id, [])
            assert [it.number for it in entries] == sorted(it.number for it in entries)

    @invariant()
    def what_is_delivered_was_said_in_that_order(self) -> None:
        for chat, texts in self.model.delivered.items():
            assert self._said(chat)[: len(texts)] == texts

    def _said(self, chat: str) -> list[str]:
        return self.model.rows.get(chat, [])

    @invariant()
    def every_message_has_the_outcome_that_it_was_given(self) -> None:
        for id_, told in self.model.messages.items():
            passages = [it.what for it in self.guest.call(self.journal.books.where, id_)[0].passages]
            assert passages[0] == "accepted"
            if told.outcome:
                assert told.outcome in passages

    # --- helpers ---

    def _chat(self, claim: Claim) -> str:
        return self.model.messages[claim.message].chat

    def _written(self, claim: Claim, function: Callable[..., Awaitable[T]], *arguments: object) -> list[T]:
        """What the journal answers; nothing for a claim that is not in force, which writes nothing."""
        if self.held.get(claim.conversation.id) == claim:
            if function in (self.journal.work.append, self.journal.work.intend):
                self.moved.add(claim.conversation.id)
            return [self.guest.call(function, *arguments)]
        with pytest.raises(Fenced):
            self.guest.call(function, *arguments)
        return []


class InMemory(JournalMachine):
    def open(self) -> Journal:
        self.memory = MemoryJournal(lambda: self.time)
        return self.memory

    def reopen(self) -> None:
        self.memory.reopen()


class InFile(JournalMachine):
    """Without barriers, which nothing here could tell from barriers that do not hold."""

    def open(self) -> Journal:
        self.folder = TemporaryDirectory(prefix="journal-")
        return self._opened()

    def reopen(self) -> None:
        self.leave.set()
        self.guest.call(self.left.wait)
        self.journal = self._opened()

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()

    def _opened(self) -> Journal:
        self.leave, self.left = trio.Event(), trio.Event()
        return cast("Journal", self.guest.start(self._hold))

    async def _hold(self, *, task_status: trio.TaskStatus[Journal]) -> None:
        async with open_journal(Path(self.folder.name) / "journal.db", "process", lambda: self.time) as journal:
            task_status.started(journal)
            await self.leave.wait()
        self.left.set()


InMemory.TestCase.settings = settings(stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck))
fewer = settings.default.max_examples // 3
InFile.TestCase.settings = settings(InMemory.TestCase.settings, max_examples=fewer)
TestAnyOrderInMemory = InMemory.TestCase
TestAnyOrderInAFile = InFile.TestCase
