"""Several people, at any time, in any order, while rules move and change: who is first decides, and nobody else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import outcome
import pytest
import trio
import trio.testing
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from hookgate.approvals.binding import NotApproved, Permit
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import OPERATOR, Decision, Grant, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.values import AlreadyIntended, PolicyChanged
from hookgate.protocol.values import Step, ToolCall
from tests.approvals.asking import House, Person
from tests.guest import Guest

TTL_S = 100.0
TOOLS = ("bash", "write")
CHATS = {"1": "ann", "2": "bob"}
VOTERS = {"ann": Voter("test", "ann"), "bob": Voter("test", "bob"), "operator": OPERATOR}


@dataclass
class Asked:
    """A call that was asked about: what has become of it, and by whose word."""

    chat: str
    tool: str
    content: str
    expires_at: float
    id: str = ""
    state: str = "open"
    by: str = ""
    ended: list[outcome.Outcome[NotApproved | Permit]] = field(default_factory=list)
    scope: trio.CancelScope = field(default_factory=trio.CancelScope)


class ApprovalsMachine(RuleBasedStateMachine):
    """Two chats with somebody in each, an operator, and a rule for each of two tools."""

    def __init__(self) -> None:
        super().__init__()
        self.time = 1000.0
        self.rules = [Rule(tool, Matcher({"tools": Globs((tool,))}), TTL_S) for tool in TOOLS]
        self.house = House(*self.rules, clock=lambda: self.time)
        self.guest = Guest()
        self.people = {chat: Person() for chat in CHATS}
        self.asked: list[Asked] = []
        self.granted = set[tuple[str, str, str]]()
        self.permits: list[tuple[Permit, str]] = []
        """With what the rule said that asked."""

    def teardown(self) -> None:
        for asked in self.asked:
            asked.scope.cancel()
        self.settled()
        self.guest.close()

    def settled(self) -> None:
        self.guest.call(trio.testing.wait_all_tasks_blocked)

    @property
    def waiting(self) -> list[Asked]:
        return [it for it in self.asked if not it.ended]

    def rule_for(self, tool: str) -> Rule:
        return next(it for it in self.rules if it.match.matches(None, tool))

    def adopt(self, rules: Sequence[Rule]) -> bool:
        async def adopt() -> bool:
            await trio.lowlevel.checkpoint()
            return self.house.approvals.adopt(rules)

        self.rules = list(rules)
        changed = self.guest.call(adopt)
        self.settled()
        return changed

    # --- calls ---

    @rule(chat=st.sampled_from(sorted(CHATS)), tool=st.sampled_from(TOOLS))
    def a_call_is_asked_about_unless_it_was_granted(self, chat: str, tool: str) -> None:
        if any(it.chat == chat for it in self.waiting):
            return
        asking = self.rule_for(tool)
        asked = Asked(chat, tool, asking.content, self.time + asking.ttl_s)
        step = Step("main", "t", Inbound(Chat("test", chat, sender=CHATS[chat]), "go"))
        call, person = ToolCall(f"c{len(self.asked)}", tool, {}), self.people[chat]
        shown = len(person.requests)

        async def settle() -> None:
            with asked.scope:
                wishes = self.house.approvals.wishes(step, call)
                asked.ended.append(await outcome.acapture(self.house.settle, wishes, person, step, call))

        async def begin() -> None:
            await trio.lowlevel.checkpoint()
            trio.lowlevel.spawn_system_task(settle)

        self.guest.call(begin)
        self.settled()
        if (chat, tool, asked.content) in self.granted:
            self.permits.append((self.permit(asked), asked.content))
            assert len(person.requests) == shown
            return
        asked.id = person.requests[shown].id
        assert not asked.ended
        self.asked.append(asked)

    def permit(self, asked: Asked) -> Permit:
        [ended] = asked.ended
        permit = ended.unwrap()
        assert isinstance(permit, Permit)
        return permit

    @precondition(lambda self: self.waiting)
    @rule(pick=st.integers(0, 9))
    def a_turn_is_stopped_and_its_request_is_void(self, pick: int) -> None:
        asked = self.waiting[pick % len(self.waiting)]
        self.guest.call(self.cancelled, asked.scope)
        self.settled()
        if asked.state == "open":
            # Its time may have come first, where nobody has looked.
            asked.state = "void" if asked.expires_at > self.time else "expired"

    async def cancelled(self, scope: trio.CancelScope) -> None:
        await trio.lowlevel.checkpoint()
        scope.cancel()

    @precondition(lambda self: self.permits)
    @rule(pick=st.integers(0, 9))
    def a_yes_is_used_once(self, pick: int) -> None:
        permit, content = self.permits.pop(pick % len(self.permits))
        approvals, subject = self.house.approvals, permit.subject
        held = {it.id for it in self.guest.call(approvals.grants.held)}
        if self.rule_for(subject.call.name).content == content and held >= set(permit.grants):
            self.guest.call(approvals.spend, permit)
        with pytest.raises((AlreadyIntended, PolicyChanged)):
            self.guest.call(approvals.spend, permit)

    # --- people ---

    @precondition(lambda self: self.asked)
    @rule(
        pick=st.integers(0, 9),
        who=st.sampled_from(sorted(VOTERS)),
        approved=st.booleans(),
        grant=st.sampled_from(["once", "session", "always"]),
    )
    def the_first_who_may_decides_and_others_read_what_became_of_it(
        self, pick: int, who: str, approved: bool, grant: Grant
    ) -> None:
        asked = self.asked[-1 - pick % len(self.asked)]
        decision = Decision(approved, who, grant=grant)
        came = self.guest.call(self.house.approvals.decide, asked.id, decision, VOTERS[who])
        self.settled()
        if asked.state == "open" and asked.expires_at <= self.time:
            asked.state = "expired"
        if who not in (CHATS[asked.chat], "operator"):
            assert (came.counted, came.text) == (False, "Only whoever asked for it may decide this.")
        elif asked.state == "open":
            assert (came.counted, came.state) == (True, "approved" if approved else "refused")
            asked.state, asked.by = came.state, who
            if approved and grant == "session":
                self.granted.add((asked.chat, asked.tool, asked.content))
            if approved:
                self.permits.append((self.permit(asked), asked.content))
        else:
            assert not came.counted
            assert came.state in (asked.state, "spent")
            assert came.text.startswith(f"{asked.by} has " if asked.by else "It is too late: ")

    @rule(who=st.sampled_from(sorted(VOTERS)))
    def what_nobody_has_asked_is_unknown(self, who: str) -> None:
        came = self.guest.call(self.house.approvals.decide, "A1", Decision(True, who), VOTERS[who])
        assert (came.counted, came.state) == (False, "unknown")

    @precondition(lambda self: self.granted)
    @rule(pick=st.integers(0, 9))
    def a_grant_is_taken_back(self, pick: int) -> None:
        held = self.guest.call(self.house.approvals.grants.held)
        grant = held[pick % len(held)]
        assert self.guest.call(self.house.approvals.grants.revoke, grant.id)
        chat, content = grant.session.removeprefix("test:"), grant.asker.removeprefix("rule:")
        self.granted = {it for it in self.granted if (it[0], it[2]) != (chat, content)}

    @rule(chat=st.sampled_from(sorted(CHATS)))
    def a_conversation_begins_anew(self, chat: str) -> None:
        self.house.approvals.forget(f"test:{chat}")
        self.granted = {it for it in self.granted if it[0] != chat}

    # --- rules and time ---

    @rule()
    def rules_move_and_are_renamed_and_everything_stands(self) -> None:
        assert not self.adopt([replace(it, name=f"{it.name}x") for it in reversed(self.rules)])

    @rule(tool=st.sampled_from(TOOLS), back=st.booleans())
    def a_rule_that_says_something_else_voids_what_it_asked_and_what_it_granted(self, tool: str, back: bool) -> None:
        before = self.rule_for(tool).content
        changed = [replace(it, ttl_s=it.ttl_s + 1) if it.match.matches(None, tool) else it for it in self.rules]
        rules = list(self.rules)
        assert self.adopt(changed)
        if back:
            assert self.adopt(rules)
        self.granted = {it for it in self.granted if it[2] != before}
        for asked in self.asked:
            if asked.content == before and asked.state == "open":
                asked.state = "void" if asked.expires_at > self.time else "expired"
                if asked.state == "void":
                    with pytest.raises(PolicyChanged):
                        asked.ended[0].unwrap()

    @rule(seconds=st.sampled_from([1.0, 60.0, TTL_S]))
    def time_passes(self, seconds: float) -> None:
        self.time += seconds

    # --- what must always be true ---

    @invariant()
    def what_waits_is_what_nobody_has_decided(self) -> None:
        pending = {it.id for it in self.guest.call(self.house.approvals.pending)}
        assert pending == {it.id for it in self.asked if it.state == "open" and it.expires_at > self.time}

    @invariant()
    def what_is_granted_is_what_stands(self) -> None:
        held = self.guest.call(self.house.approvals.grants.held)
        assert {(it.session.removeprefix("test:"), it.asker.removeprefix("rule:")) for it in held} == {
            (chat, content) for chat, _, content in self.granted
        }

    @invariant()
    def only_a_yes_lets_a_call_through(self) -> None:
        for asked in self.asked:
            if asked.ended and isinstance(asked.ended[0], outcome.Value):
                assert isinstance(asked.ended[0].value, Permit) is (asked.state == "approved")


ApprovalsMachine.TestCase.settings = settings(
    max_examples=40, stateful_step_count=30, deadline=None, suppress_health_check=list(HealthCheck)
)
TestAnyOrder = ApprovalsMachine.TestCase
