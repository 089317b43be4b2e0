"""Several people, of whom it takes some, with crashes, jumping clocks and changing rules between any two of them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import cast

import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookgate.approvals import people
from hookgate.approvals.binding import NotApproved, Permit, Subject
from hookgate.approvals.people import People
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import OPERATOR, Decision, Grant, Terms, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import AlreadyIntended, Arrival, Claim, Conversation, PolicyChanged
from hookgate.protocol.values import Step, ToolCall
from hookgate.store.journal import open_journal
from hookgate.store.memory import MemoryJournal
from tests.approvals.asking import House, Person
from tests.guest import Guest

CHAT = Chat("telegram", "77", "ann", "group")
IDS = {
    "ann": Voter("telegram", "ann"),
    "bob": Voter("telegram", "bob"),
    "bob at work": Voter("slack", "U1"),
    "carl": Voter("telegram", "carl"),
    "dave": Voter("telegram", "dave"),
    "operator": OPERATOR,
}
OPS = ("ann", "bob", "carl")
TTL_S = 100.0

Ended = NotApproved | Permit | PolicyChanged


def persons(*ops: str) -> People:
    known = {name: tuple(id_ for who, id_ in IDS.items() if who.split()[0] == name) for name in OPS}
    return People(people.Person(name, ids, ("ops",) if name in ops else ()) for name, ids in known.items())


@dataclass(frozen=True)
class Granted:
    """What the model knows of a grant: what the rule said, until when it holds (0: for ever), and who said yes."""

    content: str
    until: float
    voters: frozenset[str]


@dataclass
class Call:
    """What the model knows of the call that is asked about: who may say something of it, and what has counted."""

    number: int
    rule: Rule
    may: frozenset[str]
    request: str = ""
    expires_at: float = 0.0
    state: str = "open"
    granted: bool = False
    votes: dict[str, tuple[bool, Grant]] = field(default_factory=dict[str, tuple[bool, Grant]])
    ended: list[Ended] = field(default_factory=list[Ended])
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)

    def now(self, time: float) -> str:
        return "expired" if self.state == "open" and self.expires_at <= time else self.state


class Busy:
    """A journal with its calls under way: a thread may be at work while all tasks wait."""

    def __init__(self, journal: Journal) -> None:
        self.number = 0
        self._journal = journal

    def __getattr__(self, part: str) -> object:
        found = getattr(self._journal, part)
        return found if part == "cluster" else _Part(self, found)

    async def settled(self) -> None:
        await trio.testing.wait_all_tasks_blocked()
        while self.number:
            await trio.sleep(0.0005)
            await trio.testing.wait_all_tasks_blocked()


@dataclass
class _Part:
    busy: Busy
    part: object

    def __getattr__(self, name: str) -> object:
        if name == "me":
            return getattr(self.part, name)

        async def call(*given: object, **named: object) -> object:
            self.busy.number += 1
            try:
                return await getattr(self.part, name)(*given, **named)
            finally:
                self.busy.number -= 1

        return call


class PeopleMachine(RuleBasedStateMachine):
    """One conversation of a group, one call at a time, and all who may want to say something about it. `goes_back`:
    what the journal goes by for its time."""

    goes_back = True

    def __init__(self) -> None:
        super().__init__()
        self.time, self.calls = 10_000.0, 0
        self.guest, self.person = Guest(), Person()
        self.calls_under_way = Busy(self.kept())
        self.journal = cast("Journal", self.calls_under_way)
        self.rule = Rule("ask", ttl_s=TTL_S, approvers=("role:ops",), terms=Terms(grants=("session", "1h", "always")))
        self.ops = frozenset(OPS)
        self.call: Call | None = None
        self.grants: dict[str, Granted] = {}
        """By id."""
        self.house = self.opened()
        self.claim = self.guest.call(self.accepted)

    def kept(self) -> Journal:
        return MemoryJournal(lambda: self.time)

    def opened(self) -> House:
        return House(self.rule, clock=lambda: self.time, journal=self.journal, people=persons(*self.ops))

    async def accepted(self) -> Claim:
        took = await self.journal.intake.accept(Arrival(Inbound(CHAT, "go"), "main", ""))
        claim = await self.journal.work.claim("gateway", 1e9, Conversation(CHAT.session_key, "main"), took.id)
        assert claim is not None
        return claim

    def teardown(self) -> None:
        if self.call is not None:
            self.call.scope.cancel()
        self.settled()
        self.guest.close()

    def settled(self) -> None:
        self.guest.call(self.calls_under_way.settled)

    def held(self) -> dict[str, Granted]:
        return {id_: it for id_, it in self.grants.items() if not it.until or it.until > self.time}

    def counts(self, grant: Granted) -> bool:
        """Whether as many of those who gave it as it takes may still decide."""
        still = [name for name in grant.voters if name == "operator" or name in self.may()]
        return grant.content == self.rule.content and len(still) >= self.rule.terms.required

    def covered(self) -> bool:
        return any(map(self.counts, self.held().values()))

    # --- a call ---

    def asks(self, call: Call) -> None:
        """The call comes to its question, for the first time or after a crash."""
        step = Step("main", "t", Inbound(CHAT, "go"))
        subject = Subject(self.claim, step, ToolCall(f"c{call.number}", "bash", {}), f"{call.number}.0")
        call.ended, call.scope, shown = [], trio.CancelScope(), len(self.person.requests)

        async def settle() -> None:
            with call.scope:
                wishes = self.house.approvals.wishes(step, subject.call)
                try:
                    call.ended.append(await self.house.approvals.settle(subject, wishes, self.person))
                except PolicyChanged as changed:
                    call.ended.append(changed)

        async def begin() -> None:
            await trio.lowlevel.checkpoint()
            trio.lowlevel.spawn_system_task(settle)

        self.guest.call(begin)
        self.settled()
        if len(self.person.requests) > shown:
            [request] = self.person.requests[shown:]
            if request.id != call.request:
                call.request, call.expires_at, call.votes = request.id, self.time + self.rule.ttl_s, {}
                call.state = "open"

    @precondition(lambda self: self.call is None)
    @rule()
    def a_call_is_asked_about_unless_it_was_granted(self) -> None:
        self.calls += 1
        terms = self.rule.terms
        may = self.ops if terms.self_approval else self.ops - {"ann"}
        call = self.call = Call(self.calls, self.rule, may)
        self.asks(call)
        if self.covered():
            call.granted = True
            assert isinstance(call.ended[0], Permit)
        elif len(may) < terms.required:
            assert isinstance(call.ended[0], NotApproved)
            self.call = None
        else:
            assert (bool(call.request), call.ended) == (True, [])

    @precondition(lambda self: self.call is not None)
    @rule(
        who=st.sampled_from(sorted(IDS)),
        approved=st.integers(0, 3).map(bool),
        grant=st.sampled_from(["once", "once", "session", "1h", "always"]),
    )
    def whoever_may_counts_once_and_others_read_what_became_of_it(
        self, who: str, approved: bool, grant: Grant
    ) -> None:
        call = self.call
        assert call is not None
        if not call.request:
            return
        decide, before = self.house.approvals.decide, call.now(self.time)
        came = self.guest.call(decide, call.request, Decision(approved, who, grant=grant), IDS[who])
        self.settled()
        name = who.split()[0]
        if name != "operator" and name not in call.may & self.ops:
            assert (came.counted, came.text) == (False, "Only those with the role ops may decide this.")
        elif before != "open" or (approved and name in call.votes):
            assert (came.counted, came.state) == (False, before)
            # Whoever waits has heard that it is over, wherever the clock goes then.
            call.state = before
        else:
            call.votes[name] = (approved, grant)
            enough = len(call.votes) >= call.rule.terms.required
            call.state = "refused" if not approved else "approved" if enough else "open"
            assert (came.counted, came.state) == (True, call.state)
            self.decided(call)

    def decided(self, call: Call) -> None:
        """The call goes on with what was said; those who agree on more than the call have allowed it."""
        if call.state == "open":
            assert call.ended == []
            return
        came = call.ended[0]
        assert isinstance(came, Permit) is (call.state == "approved")
        if call.state == "refused":
            self.call = None
            return
        wanted = {grant for _, grant in call.votes.values()}
        if len(wanted) == 1 and wanted != {"once"}:
            until = self.time + 3600 if wanted == {"1h"} else 0.0
            new = [it for it in self.guest.call(self.house.approvals.grants.held) if it.id not in self.grants]
            if not self.covered():
                [grant] = new
                self.grants[grant.id] = Granted(call.rule.content, until, frozenset(call.votes))
                assert grant.until == until

    @precondition(lambda self: self.call is not None and (self.call.granted or self.call.state == "approved"))
    @rule()
    def it_runs_once_where_all_still_stands(self) -> None:
        call = self.call
        assert call is not None
        permit = call.ended[0]
        assert isinstance(permit, Permit)
        said = {name for name in call.votes if name == "operator" or name in self.ops}
        held, stood_on = self.held(), {grant.id for _wish, grant in permit.grants}
        counts = stood_on <= held.keys() and all(self.counts(held[it]) for it in stood_on)
        stands = self.rule.content == call.rule.content and counts
        if stands and (call.granted or len(said) >= call.rule.terms.required):
            self.guest.call(self.house.approvals.spend, permit)
        with pytest.raises((AlreadyIntended, PolicyChanged)):
            self.guest.call(self.house.approvals.spend, permit)
        self.call = None

    # --- what comes between ---

    @rule()
    def hookgate_dies_and_comes_back_to_the_call(self) -> None:
        call = self.call
        if call is not None:
            self.guest.call(self.cancelled, call.scope)
            self.settled()
        self.house = self.opened()
        if call is None:
            return
        before, state, votes = call.request, call.now(self.time), len(call.votes)
        if call.rule.content != self.rule.content or call.may != self.may() or (call.granted and not call.request):
            # It is asked about as a new one would be.
            self.call = None
            return
        self.asks(call)
        call.granted = self.covered()
        if call.granted or state == "approved":
            assert isinstance(call.ended[0], Permit)
        else:
            assert (call.ended, (call.request == before)) == ([], state == "open")
            assert state != "open" or len(call.votes) == votes

    def may(self) -> frozenset[str]:
        return self.ops if self.rule.terms.self_approval else self.ops - {"ann"}

    async def cancelled(self, scope: trio.CancelScope) -> None:
        await trio.lowlevel.checkpoint()
        scope.cancel()

    @rule(required=st.integers(1, 3), self_approval=st.booleans())
    def a_rule_that_says_something_else_voids_what_it_asked_and_granted(
        self, required: int, self_approval: bool
    ) -> None:
        terms = replace(self.rule.terms, required=required, self_approval=self_approval)
        self.changed(replace(self.rule, terms=terms), self.ops)

    @rule(ops=st.sampled_from([OPS, ("ann", "bob"), ("bob", "carl")]))
    def people_come_and_go(self, ops: tuple[str, ...]) -> None:
        self.changed(self.rule, frozenset(ops))

    def changed(self, rule: Rule, ops: frozenset[str]) -> None:
        before, may = self.rule.content, self.may()
        self.rule, self.ops = rule, ops

        async def adopt() -> None:
            await trio.lowlevel.checkpoint()
            self.house.approvals.adopt([rule], persons(*ops))

        self.guest.call(adopt)
        self.settled()
        if before != rule.content:
            # What is over is not looked at: it is back, for the old rule alone, where the clock goes back.
            over = set(self.grants) - set(self.held())
            self.grants = {id_: it for id_, it in self.grants.items() if it.content != before or id_ in over}
        call = self.call
        if call is not None and call.state == "open" and (before != rule.content or may != self.may()):
            late = call.now(self.time) == "expired"
            assert late or isinstance(call.ended[0], PolicyChanged)
            self.call = None

    @precondition(lambda self: self.held())
    @rule(pick=st.integers(0, 9))
    def a_grant_is_taken_back(self, pick: int) -> None:
        id_ = sorted(self.held())[pick % len(self.held())]
        assert self.guest.call(self.house.approvals.grants.revoke, id_)
        del self.grants[id_]

    @rule(seconds=st.sampled_from([1.0, 60.0, TTL_S, 3600.0, -30.0]))
    def the_clock_goes_on_or_jumps(self, seconds: float) -> None:
        if seconds > 0 or self.goes_back:
            self.time += seconds

    # --- what must always be true ---

    @invariant()
    def what_waits_is_what_nobody_has_decided(self) -> None:
        call = self.call
        waits = {call.request} if call is not None and call.request and call.now(self.time) == "open" else set[str]()
        assert {it.id for it in self.guest.call(self.house.approvals.pending)} == waits

    @invariant()
    def what_is_granted_is_what_stands(self) -> None:
        assert {it.id for it in self.guest.call(self.house.approvals.grants.held)} == set(self.held())


class PeopleInAFile(PeopleMachine):
    goes_back = False

    def kept(self) -> Journal:
        self.folder = TemporaryDirectory()
        return cast("Journal", self.guest.start(self._hold))

    async def _hold(self, *, task_status: trio.TaskStatus[Journal]) -> None:
        async with open_journal(Path(self.folder.name) / "journal.db", "process", lambda: self.time) as journal:
            task_status.started(journal)
            await trio.sleep_forever()

    def teardown(self) -> None:
        super().teardown()
        self.folder.cleanup()


PeopleMachine.TestCase.settings = settings(
    stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
fewer = settings.default.max_examples // 3
PeopleInAFile.TestCase.settings = settings(PeopleMachine.TestCase.settings, max_examples=fewer)
TestAnyPeople = PeopleMachine.TestCase
TestAnyPeopleInAFile = PeopleInAFile.TestCase
