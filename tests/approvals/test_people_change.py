"""People who change while a call waits, before it runs, or while hookgate is away: who may decide by then does."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest
import trio
import trio.testing

from hookgate.approvals import people
from hookgate.approvals.binding import NotApproved, Permit, Subject
from hookgate.approvals.people import People
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Decision, Voter, Wish
from hookgate.protocol.chat import Outbound
from hookgate.protocol.journal.decisions import Standing, StoredRequest
from hookgate.protocol.journal.values import Arrival, Claim, PolicyChanged
from tests.approvals.asking import CALL, STEP, House, Person
from tests.approvals.test_people import ANN, BOB, CARL, DEADLINE_S, OPS, PEOPLE, RULE, TWO, open_call

OTHERS = People([people.Person("carl", (CARL,), OPS)])


async def test_whoever_a_turn_answers_has_the_roles_of_the_people_as_they_are_by_now() -> None:
    approvals = House(RULE, people=PEOPLE).approvals
    assert approvals.roles(STEP.chat) == OPS
    approvals.adopt([RULE], People([people.Person("ann", (ANN,))]))
    assert approvals.roles(STEP.chat) == ()


async def test_people_who_change_void_what_they_were_asked() -> None:
    async with open_call(RULE) as call:
        assert not call.house.approvals.adopt([RULE], PEOPLE)
        await trio.testing.wait_all_tasks_blocked()
        assert call.ended == []
        call.house.approvals.adopt([RULE], OTHERS)
        # Also where they are faster than the call that waits.
        assert await call.say(CARL) == "It is too late: who may decide it has changed."
        assert await call.say(BOB) == "Only those with the role ops may decide this."
        assert await call.house.told_in("slack") == ["slack:C99 Run bash? Refused: who may decide it has changed."]
        [ended] = call.ended
        assert isinstance(ended, PolicyChanged)
        assert str(ended) == "who may decide it has changed"


async def test_what_somebody_allowed_who_may_no_more_does_not_run() -> None:
    async with open_call(RULE) as call:
        await call.say(BOB)
        [permit] = call.ended
        assert isinstance(permit, Permit)
        call.house.approvals.adopt([RULE], OTHERS)
        with pytest.raises(PolicyChanged, match="who may decide it has changed"):
            await call.house.approvals.spend(permit)
        call.house.approvals.adopt([RULE], PEOPLE)
        await call.house.approvals.spend(permit)


@pytest.mark.parametrize(("rule", "voters"), [(RULE, [BOB]), (TWO, [BOB, CARL])])
async def test_what_somebody_allowed_for_longer_who_may_no_more_is_asked_about_again(
    rule: Rule, voters: list[Voter]
) -> None:
    async with open_call(rule) as call:
        for voter in voters:
            await call.house.approvals.decide(call.id, Decision(True, "", grant="session"), voter)
        await trio.testing.wait_all_tasks_blocked()
        approvals, covered = call.house.approvals, list[bool]()
        subject, [wish] = await call.house.subject(), approvals.wishes(STEP, CALL)
        for known in (PEOPLE, OTHERS, PEOPLE):
            approvals.adopt([rule], known)
            covered.append(await approvals.grants.covering(subject, wish) is not None)
        assert covered == [True, False, True]


async def test_what_stands_on_the_word_of_somebody_who_may_no_more_does_not_run() -> None:
    async with open_call(RULE) as call:
        await call.house.approvals.decide(call.id, Decision(True, "", grant="session"), BOB)
        await trio.testing.wait_all_tasks_blocked()
        approvals = call.house.approvals
        permit = await approvals.settle(await call.house.subject(), approvals.wishes(STEP, CALL), Person())
        assert isinstance(permit, Permit)
        approvals.adopt([RULE], OTHERS)
        with pytest.raises(PolicyChanged, match="who may decide it has changed"):
            await approvals.spend(permit)
        approvals.adopt([RULE], PEOPLE)
        await approvals.spend(permit)


async def test_after_a_restart_it_is_asked_anew_where_others_may_decide_by_then() -> None:
    rule = replace(RULE, terms=replace(RULE.terms, ask_in=("slack:C99", "slack:C98")))
    before, after = ([Person(name="slack"), Person()] for _ in range(2))
    house = House(rule, people=PEOPLE, channels=before)
    took = await house.journal.intake.accept(Arrival(STEP.inbound, "main", ""))
    claim = await house.journal.work.claim("gateway", 60, took.conversation, took.id)
    assert claim is not None
    subject, ended = Subject(claim, STEP, CALL, "1.0"), list[NotApproved | Permit]()

    async def settle(here: House, chat: Person) -> None:
        ended.append(await here.approvals.settle(subject, here.approvals.wishes(STEP, CALL), chat))

    with trio.fail_after(DEADLINE_S):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle, house, before[1])
            await before[0].asked.wait()
            nursery.cancel_scope.cancel()
        [asked], _ = await house.approvals.pending(), await house.told_in("telegram")
        house = House(rule, people=OTHERS, channels=after, journal=house.journal)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(settle, house, after[1])
            await after[0].asked.wait()
            [again] = await house.approvals.pending()
            assert again.id != asked.id
            over = "Run bash? Refused: who may decide it has changed."
            assert await house.told_in("slack") == [f"slack:{chat} {over}" for chat in ("C99", "C98")]
            waits = "Run bash? It waits for those with the role ops, asked in slack:C99, slack:C98."
            assert await house.told_in("telegram") == [f"telegram:42 {over}", f"telegram:42 {waits}"]
            assert (await house.approvals.decide(again.id, Decision(False, ""), CARL)).text == "Refused."
    assert ended == [NotApproved(f"approval:{again.id}", "carl said no")]
    assert await house.told_in("telegram") == ["telegram:42 Run bash? carl has refused it."]


async def test_people_who_change_while_it_is_stored_void_it_before_anybody_sees_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    slack = Person(name="slack")
    house = House(RULE, people=PEOPLE, channels=[slack])
    request = house.journal.decisions.request

    async def changing(claim: Claim, stored: StoredRequest, outbox: Sequence[Outbound] = ()) -> Standing:
        standing = await request(claim, stored, outbox)
        house.approvals.adopt([RULE], OTHERS)
        return standing

    monkeypatch.setattr(house.journal.decisions, "request", changing)
    with pytest.raises(PolicyChanged, match="who may decide it has changed"):
        await house.allowed(Person())
    assert (slack.requests, await house.approvals.pending()) == ([], ())


async def test_what_a_hook_asked_where_the_channel_says_who_decides_is_found_again_after_a_crash() -> None:
    house, limits, wish = House(), {"telegram": ("boss",)}, Wish("hook:a")
    subject = replace(await house.subject(), step=replace(STEP, resumed=True))
    found = list[tuple[str, ...]]()
    for here, person in ((house, Person([Decision(True, "boss")])), (House(journal=house.journal), Person())):
        here.approvals.adopt([], PEOPLE, limits)
        permit = await here.approvals.settle(subject, [wish], person)
        assert isinstance(permit, Permit)
        found.append(tuple(it.request for it in permit.approvals))
    assert found[0] == found[1]
    assert len(found[0]) == 1
