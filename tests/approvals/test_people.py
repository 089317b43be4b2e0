"""Several people: who counts as one, how many it takes, where they are asked, and what silence is."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import time

import pytest
import trio
import trio.testing

from hookgate.approvals import people
from hookgate.approvals.binding import NotApproved, Permit
from hookgate.approvals.people import People
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Decision, Terms, Voter
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.journal.interfaces import Journal
from hookgate.protocol.journal.values import PolicyChanged
from hookgate.protocol.values import Step
from hookgate.store.journal import open_journal
from tests.approvals.asking import CALL, STEP, House, Person

DEADLINE_S = 60.0
ANN, BOB, CARL = Voter("telegram", "boss"), Voter("slack", "U1"), Voter("slack", "U2")
BOB_AT_HOME = Voter("telegram", "9")
OPS = ("ops",)
PEOPLE = People(
    [
        people.Person("ann", (ANN,), OPS),
        people.Person("bob", (BOB, BOB_AT_HOME), OPS),
        people.Person("carl", (CARL,), OPS),
    ]
)
GROUP = replace(STEP, inbound=Inbound(Chat("telegram", "77", "boss", "group"), "x"))
RULE = Rule("shell", ttl_s=30, approvers=("role:ops",), terms=Terms(ask_in=("slack:C99",), self_approval=False))
TWO = replace(RULE, terms=replace(RULE.terms, required=2))


Ended = NotApproved | Permit | PolicyChanged


@dataclass
class Waiting:
    """A call that people are asked about. `ended` once it is over; `woken`: chats that something is stored for."""

    house: House
    slack: Person
    telegram: Person
    ended: list[Ended] = field(default_factory=list[Ended])
    woken: list[str] = field(default_factory=list[str])

    @property
    def id(self) -> str:
        return (self.slack.requests or self.telegram.requests)[-1].id

    async def say(self, voter: Voter, yes: bool = True, request: str = "") -> str:
        said = Decision(yes, "whatever they call themselves", "" if yes else "not today")
        came = await self.house.approvals.decide(request or self.id, said, voter)
        await trio.testing.wait_all_tasks_blocked()
        return came.text


@asynccontextmanager
async def open_call(
    rule: Rule, step: Step = STEP, known: People = PEOPLE, journal: Journal | None = None
) -> AsyncGenerator[Waiting]:
    slack, telegram = Person(name="slack"), Person()
    clock = trio.current_time if journal is None else time
    house = House(rule, people=known, channels=(slack, telegram), clock=clock, journal=journal)
    waiting = Waiting(house, slack, telegram)
    subject = replace(await house.subject(step), wake=lambda chat: waiting.woken.append(chat.session_key))

    async def settle() -> None:
        try:
            wishes = house.approvals.wishes(step, CALL)
            waiting.ended.append(await house.approvals.settle(subject, wishes, telegram))
        except PolicyChanged as changed:
            waiting.ended.append(changed)

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle)
            await trio.testing.wait_all_tasks_blocked()
            yield waiting
            nursery.cancel_scope.cancel()


async def test_a_rule_asks_where_its_people_are_and_tells_every_chat_what_came_of_it() -> None:
    async with open_call(RULE) as call:
        [shown] = call.slack.requests
        assert (shown.chat.session_key, shown.chat.chat_type) == ("slack:C99", "group")
        assert shown.text == "boss asks in telegram:42."
        assert call.telegram.requests == []
        [waits] = await call.house.approvals.pending()
        assert [call.house.approvals.deciders.asked_for(waits, it) for it in (ANN, BOB)] == [True, False]
        assert await call.house.told_in("telegram") == [
            "telegram:42 Run bash? It waits for those with the role ops, asked in slack:C99."
        ]
        assert await call.say(ANN) == "Only those with the role ops may decide this."
        assert await call.say(Voter("slack", "bob")) == "Only those with the role ops may decide this."
        assert await call.say(BOB) == "Allowed."
        [permit] = call.ended
        assert isinstance(permit, Permit)
        assert await call.house.told_in("slack") == ["slack:C99 Run bash? bob has allowed it."]
        assert await call.house.told_in("telegram") == ["telegram:42 Run bash? bob has allowed it."]
        assert await call.say(CARL, yes=False) == "bob has allowed it already."


async def test_it_takes_different_people_whatever_ids_they_have() -> None:
    async with open_call(TWO, GROUP) as call:
        assert (len(call.slack.requests), len(call.telegram.requests)) == (1, 1)
        assert await call.say(BOB) == "1 of 2: it waits for somebody else as well."
        assert await call.say(BOB) == "You have said so already. 1 of 2: it waits for somebody else."
        assert await call.say(BOB_AT_HOME) == "You have said so already. 1 of 2: it waits for somebody else."
        assert call.ended == []
        assert await call.say(CARL) == "Allowed."
        [permit] = call.ended
        assert isinstance(permit, Permit)
        assert await call.house.told_in("telegram") == ["telegram:77 Run bash? carl has allowed it."]
        await call.house.approvals.spend(permit)


async def test_what_the_chats_are_told_is_stored_with_the_decision_wherever_that_is_made(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    async with open_journal(file, "process") as journal, open_call(TWO, journal=journal) as call:
        # No delivery runs here: a gateway that dies now has said nothing yet, and says it when it starts again.
        await call.slack.asked.wait()
        beside = House(TWO, journal=journal, people=PEOPLE).approvals
        asked = ["telegram:42 Run bash? It waits for those with the role ops, asked in slack:C99."]
        assert await call.house.told_in("telegram") == asked
        await beside.decide(call.id, Decision(True, ""), BOB)
        assert await call.house.told_in("slack") == []
        await beside.decide(call.id, Decision(False, "", "no"), CARL)
        await beside.decide(call.id, Decision(True, ""), CARL)
        for channel, chat in (("slack", "slack:C99"), ("telegram", "telegram:42")):
            assert await call.house.told_in(channel) == [f"{chat} Run bash? carl has refused it: no."]


async def test_the_first_no_wins_whatever_was_said_before() -> None:
    async with open_call(TWO) as call:
        await call.say(BOB)
        assert await call.say(CARL, yes=False) == "Refused."
        assert call.ended == [NotApproved(f"approval:{call.id}", "not today")]
        assert await call.say(BOB) == "carl has refused it already: not today."


async def test_of_two_who_press_opposite_buttons_at_once_one_has_decided() -> None:
    async with open_call(RULE) as call:
        read: dict[Voter, str] = {}

        async def press(voter: Voter, yes: bool) -> None:
            read[voter] = await call.say(voter, yes)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(press, BOB, True)
            nursery.start_soon(press, CARL, False)
        allowed = isinstance(call.ended[0], Permit)
        first, second = (BOB, CARL) if allowed else (CARL, BOB)
        assert read[first] == ("Allowed." if allowed else "Refused.")
        assert read[second].startswith(f"{PEOPLE.name(first)} has ")


@pytest.mark.parametrize(
    ("rule", "known", "reason"),
    [
        (replace(RULE, terms=Terms(self_approval=False)), PEOPLE, "nobody of them can be reached; a rule's ask_in"),
        (
            replace(RULE, terms=Terms(self_approval=False)),
            PEOPLE,
            "ask_in names a chat where they are; whoever asked for it does not count, since self_approval is off",
        ),
        (RULE, People(), "only those with the role ops may approve this, and nobody of them can be reached"),
        (
            replace(RULE, terms=Terms(3, False, ("slack:C99",))),
            PEOPLE,
            "3 of those with the role ops have to approve",
        ),
        (replace(RULE, terms=Terms(1, False, ("irc:1",))), PEOPLE, "nobody of them can be reached"),
    ],
)
async def test_where_nobody_who_may_can_be_reached_it_is_refused_at_once(
    rule: Rule, known: People, reason: str
) -> None:
    async with open_call(rule, known=known) as call:
        [refused] = call.ended
        assert isinstance(refused, NotApproved)
        assert reason in refused.reason
        assert (call.slack.requests, call.telegram.requests) == ([], [])


async def test_silence_ends_the_turn_where_the_rule_says_so_and_the_chats_are_told(
    autojump_clock: trio.testing.MockClock,
) -> None:
    async with open_call(replace(RULE, terms=replace(RULE.terms, on_expiry="stop"))) as call:
        await trio.sleep(31)
        assert call.ended == [NotApproved(f"approval:{call.id}", "nobody answered within 30 s", ends_turn=True)]
        assert await call.house.told_in("slack") == ["slack:C99 Run bash? Refused: nobody answered within 30 s."]
        assert await call.say(BOB) == "It is too late: nobody answered within 30 s."


async def test_a_request_that_waits_stays_open_and_says_so_once(autojump_clock: trio.testing.MockClock) -> None:
    async with open_call(replace(RULE, terms=replace(RULE.terms, on_expiry="wait"))) as call:
        call.woken.clear()
        await trio.sleep(50)
        assert "slack:C99" in call.woken
        assert await call.house.told_in("slack") == [
            "slack:C99 Run bash? Nobody answered within 30 s; it still waits."
        ]
        assert await call.say(BOB) == "Allowed."
        assert isinstance(call.ended[0], Permit)


async def test_a_request_that_waits_says_so_out_of_a_file_too(tmp_path: Path) -> None:
    rule = replace(RULE, ttl_s=0.01, terms=replace(RULE.terms, on_expiry="wait"))
    async with open_journal(tmp_path / "journal.db", "process") as journal, open_call(rule, journal=journal) as call:
        while not (told := await call.house.told_in("slack")):
            await trio.sleep(0.001)
        assert told == ["slack:C99 Run bash? Nobody answered within 0.01 s; it still waits."]


@pytest.mark.parametrize("rule", [replace(RULE, terms=Terms()), Rule("shell", approvers=())])
@pytest.mark.parametrize(("limit", "counted"), [(("bob", "eve"), [False, True]), (("ann", "eve"), [True, False])])
async def test_a_channel_says_who_of_those_of_a_rule_decides_there(
    rule: Rule, limit: tuple[str, ...], counted: list[bool]
) -> None:
    house, chat = House(rule, people=PEOPLE), Person()
    house.approvals.adopt(house.approvals.rules, approvers={"telegram": limit})
    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.allowed, chat, GROUP)
            await chat.asked.wait()
            said = [await house.approvals.decide(chat.requests[0].id, Decision(True, "x"), it) for it in (ANN, BOB)]
    assert [it.counted for it in said] == counted
    assert counted[0] or ", ".join(limit) in said[0].text


async def test_where_a_channel_leaves_nobody_the_call_is_refused() -> None:
    house, chat = House(RULE, people=PEOPLE), Person()
    house.approvals.adopt(house.approvals.rules, approvers={"telegram": ("eve",)})
    refused = await house.settle(house.approvals.wishes(GROUP, CALL), chat, GROUP)
    assert isinstance(refused, NotApproved)
    both = "only those with the role ops, as far as the channel names them too (eve), may approve this"
    apart = "; whoever asked for it does not count, since self_approval is off"
    assert refused.reason == f"{both}, and nobody of them can be reached{apart}"
    assert chat.requests == []
