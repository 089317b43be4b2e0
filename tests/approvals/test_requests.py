"""A call that waits for a person: what they are shown, what their yes is good for, and that all else is a no."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
import trio
import trio.testing

from hookgate.approvals.binding import NotApproved, Permit, request_digest
from hookgate.approvals.rules import TTL_S, Rule
from hookgate.protocol.approval import ApprovalRequest, Decide, Decision, Lasting, Voter, Wish
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.values import Step, ToolCall
from hookgate.redaction import Redactor
from tests.approvals.asking import CALL, NO, SESSION, STEP, YES, House, Person

SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), ttl_s=30, approvers=("boss",))
OTHER = Step("main", "t", Inbound(Chat("telegram", "43", sender="boss"), "x"))


def refused(person: Person, reason: str) -> NotApproved:
    """By the last request that this person was shown."""
    return NotApproved(f"approval:{person.requests[-1].id}", reason)


async def test_always_is_kept_by_who_offers_it_and_by_nobody_else() -> None:
    kept: list[str] = []
    always = replace(YES, grant="always")
    house = House(Rule("made", once=True, lasting=lambda call: Lasting(f"{call.name} as it is", kept.append)), SHELL)
    person = Person([always, always, YES, SESSION, YES, always])
    for _ in range(3):
        assert await house.allowed(person)
    assert [it.always for it in person.requests] == ["bash as it is", "", "bash as it is", "", "bash as it is"]
    assert kept == ["boss"]
    assert [it.grant for it in house.told if isinstance(it, ApprovalDecided)] == [
        *("always", "once", "once", "session", "once"),
    ]


async def test_nobody_is_asked_without_a_wish() -> None:
    person = Person()
    assert isinstance(await House().settle((), person), Permit)
    assert person.requests == []


async def test_a_yes_lets_the_call_run_once_and_is_asked_again_the_next_time() -> None:
    house, person = House(SHELL), Person([YES, NO])
    wishes = house.approvals.wishes(STEP, CALL)
    assert isinstance(await house.settle(wishes, person), Permit)
    assert await house.settle(wishes, person) == refused(person, "not today")


async def test_the_person_sees_the_very_call_and_who_wants_it_asked() -> None:
    house, person = House(), Person([YES])
    subject = await house.subject()
    permit = await house.approvals.settle(
        subject, [Wish("hook:policy", "Really?", "it deletes", ("boss",), 7)], person
    )
    (request,) = person.requests
    assert (request.call, request.chat, request.asked_by) == (CALL, STEP.chat, "hook:policy")
    assert (request.title, request.text, request.approvers, request.ttl_s) == ("Really?", "it deletes", ("boss",), 7)
    assert request.digest == request_digest(subject, Wish("hook:policy", approvers=("boss",)).asker, "/work")
    assert isinstance(permit, Permit)
    assert [(it.request, it.digest) for it in permit.approvals] == [(request.id, request.digest)]


async def test_a_request_is_stored_before_it_is_shown_under_an_id_that_nobody_can_guess() -> None:
    house, stored = House(), list[str]()

    class Looking(Person):
        async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
            stored.extend(it.id for it in await house.approvals.pending(STEP.session_key))
            await super().ask(request, decide)

    person = Looking([YES, YES])
    for _ in range(2):
        await house.settle([Wish("rule:a")], person)
    assert stored == [request.id for request in person.requests]
    assert all(re.fullmatch("[0-9a-f]{16}", id_) for id_ in stored)
    assert len(set(stored)) == 2
    assert await house.approvals.pending() == ()


async def test_a_wish_that_says_little_gets_the_usual_title_and_time() -> None:
    person = Person([YES])
    await House().settle([Wish("rule:shell")], person)
    assert (person.requests[0].title, person.requests[0].ttl_s) == ("Run bash?", TTL_S)


async def test_a_call_of_an_extension_says_whose_it_is() -> None:
    person = Person([NO])
    await House().settle([Wish("rule:a")], person, replace(STEP, extension="todo"))
    assert person.requests[0].title == f"The extension todo wants to run {CALL.name}."
    assert person.requests[0].extension == "todo"


async def test_a_call_of_an_agent_that_works_for_another_says_whose_it_is() -> None:
    person = Person([NO])
    await House().settle([Wish("rule:a")], person, replace(STEP, parent_turn_id="t0"))
    assert person.requests[0].title == "The agent main wants to run bash."


async def test_what_is_hidden_in_a_question_can_be_revealed_and_its_digest_is_of_the_true_call() -> None:
    house = House(redactor=Redactor(["s3cr3t-value"]))
    call = replace(CALL, arguments={"command": "echo cookie: s3cr3t-value; touch X", "password": "$(touch Y)"})
    wish = Wish("hook:a", "Say cookie: s3cr3t-value ?", "API_KEY=$(touch Z)")
    person = Person([YES])
    assert isinstance(await house.settle([wish], person, call=call), Permit)
    (request,) = person.requests
    assert re.fullmatch(r"echo cookie: \[REDACTED:\w{4}\]; touch X", str(request.call.arguments["command"]))
    assert (request.call.arguments["password"], request.text) == ("$(touch Y)", "API_KEY=$(touch Z)")
    assert request.unredacted is not None
    assert (request.unredacted.call, request.unredacted.title) == (call, wish.title)
    assert "s3cr3t-value" not in repr(request)
    asked, decided = house.told
    assert isinstance(asked, ApprovalRequested)
    assert isinstance(decided, ApprovalDecided)
    assert {request.digest, asked.digest, decided.digest} == {request.unredacted.digest}
    assert "s3cr3t-value" not in repr(asked)


async def test_what_hides_nothing_has_nothing_to_reveal() -> None:
    person = Person([YES])
    await House(redactor=Redactor(["s3cr3t-value"])).settle([Wish("rule:a")], person)
    assert person.requests[0].unredacted is None


@pytest.mark.parametrize(("decision", "reason"), [(NO, "not today"), (Decision(False, "boss"), "boss said no")])
async def test_the_first_no_is_final_and_the_other_wishes_are_not_asked(decision: Decision, reason: str) -> None:
    person = Person([decision])
    assert await House().settle([Wish("rule:a"), Wish("rule:b")], person) == refused(person, reason)
    assert len(person.requests) == 1


async def test_every_wish_needs_its_own_yes() -> None:
    person = Person([YES, NO])
    assert await House().settle([Wish("rule:a"), Wish("hook:b")], person) == refused(person, "not today")
    assert len(person.requests) == 2


async def test_a_decision_is_told_with_who_made_it_and_how_far_it_reaches() -> None:
    house, person = House(), Person([SESSION, NO])
    for asker in ("rule:a", "rule:b"):
        await house.settle([Wish(asker)], person)
    yes, no = person.requests
    assert house.told[1::2] == [
        ApprovalDecided(yes.id, "bash", True, "boss", yes.digest, None, "session"),
        ApprovalDecided(no.id, "bash", False, "boss", no.digest, "not today"),
    ]
    # Whoever has said so in the one chat there is knows.
    assert await house.told_in("telegram") == []


@pytest.mark.parametrize(
    ("step", "call", "wish", "asked"),
    [
        (STEP, CALL, Wish("rule:a"), False),
        (STEP, replace(CALL, id="c2", arguments={"command": "rm"}), Wish("rule:a"), False),
        (STEP, CALL, Wish("rule:b"), True),
        (STEP, CALL, Wish("hook:a"), True),
        (STEP, CALL, Wish("rule:a", content="something else"), True),
        (STEP, CALL, Wish("rule:a", once=True), True),
        (STEP, replace(CALL, name="write"), Wish("rule:a"), True),
        (STEP, replace(CALL, origin="text"), Wish("rule:a"), True),
        (OTHER, CALL, Wish("rule:a"), True),
        (Step("main", "t", Inbound(Chat("telegram", "42", thread="1"), "x")), CALL, Wish("rule:a"), True),
        (replace(STEP, extension="todo"), CALL, Wish("rule:a"), True),
    ],
)
async def test_a_session_grant_covers_this_tool_this_asker_and_this_conversation(
    step: Step, call: ToolCall, wish: Wish, asked: bool
) -> None:
    house, person = House(), Person([NO])
    await house.settle([Wish("rule:a")], Person([SESSION]))
    ended = await house.settle([wish], person, step, call)
    assert isinstance(ended, NotApproved) is asked
    assert bool(person.requests) is asked


async def test_a_refusal_grants_nothing_whatever_grant_it_names() -> None:
    house = House()
    await house.settle([Wish("rule:a")], Person([replace(NO, grant="session")]))
    assert await house.approvals.grants.held() == ()


async def test_a_grant_says_what_it_covers_and_can_be_taken_back() -> None:
    house = House(SHELL)
    assert await house.allowed(Person([SESSION]))
    for extension in ("", "todo"):
        await house.settle([Wish("hook:b")], Person([SESSION]), replace(STEP, extension=extension))
    held = await house.approvals.grants.held(STEP.session_key)
    assert [(it.text, it.by) for it in held] == [
        ("every bash call of this conversation that rule:shell asks about", "boss"),
        ("every bash call of this conversation that hook:b asks about", "boss"),
        ("every bash call of the extension todo of this conversation that hook:b asks about", "boss"),
    ]
    assert await house.approvals.grants.held(OTHER.session_key) == ()
    assert await house.approvals.grants.revoke(held[0].id)
    assert not await house.approvals.grants.revoke(held[0].id)
    assert not await house.allowed(Person([NO]))


async def test_forgetting_a_conversation_voids_its_grants_and_no_others() -> None:
    house = House()
    for step in (STEP, OTHER):
        await house.settle([Wish("rule:a")], Person([SESSION]), step)
    house.approvals.forget(STEP.session_key)
    assert [it.session for it in await house.approvals.grants.held()] == [OTHER.session_key]
    assert isinstance(await house.settle([Wish("rule:a")], Person(), OTHER), Permit)
    assert isinstance(await house.settle([Wish("rule:a")], Person([NO])), NotApproved)


async def test_who_is_not_among_the_approvers_is_not_even_asked() -> None:
    stranger = Step("main", "t", Inbound(Chat("telegram", "42", sender="501"), "x"), model="openai/gpt")
    house, person = House(SHELL), Person([YES])
    ended = await house.settle(house.approvals.wishes(stranger, CALL), person, stranger)
    why = "only boss may approve this, and nobody of them can be reached; a rule's ask_in names a chat where they are"
    assert ended == NotApproved("rule:shell", why)
    assert person.requests == []


async def test_what_another_approver_refuses_is_not_kept_for_always() -> None:
    kept: list[str] = []
    house = House(Rule("made", once=True, lasting=lambda _call: Lasting("as it is", kept.append)), SHELL)
    assert not await house.allowed(Person([replace(YES, grant="always"), NO]))
    assert kept == []


async def test_a_rule_that_asks_each_time_takes_no_grant_of_another_of_its_name() -> None:
    house, person = House(Rule("dynamic"), Rule("dynamic", once=True)), Person([SESSION, YES, YES])
    for _ in range(2):
        assert await house.allowed(person)
    assert [it.once for it in person.requests] == [False, True, True]


async def test_a_yes_that_comes_between_the_question_and_the_wait_is_heard(autojump_clock: object) -> None:
    house, person = House(SHELL), Person()

    @asynccontextmanager
    async def decided_meanwhile() -> AsyncGenerator[None]:
        [request] = await house.approvals.pending()
        await house.approvals.decide(request.id, YES, Voter("telegram", "boss"))
        yield

    subject = replace(await house.subject(), while_asking=decided_meanwhile)
    # Long before its time is over.
    with trio.fail_after(10):
        assert isinstance(await house.approvals.settle(subject, house.approvals.wishes(STEP, CALL), person), Permit)
    # And nobody is shown what is decided.
    assert person.requests == []
