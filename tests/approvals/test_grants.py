"""Grants: how long a yes lasts, what it is narrowed to, and what it says of itself."""

from __future__ import annotations

from dataclasses import replace

import pytest
import trio

from hookgate.approvals.binding import NotApproved, Permit
from hookgate.approvals.grants import begins
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import Terms, Voter, Wish
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.decisions import Vote
from hookgate.protocol.values import ToolCall
from tests.approvals.asking import CALL, NO, SESSION, STEP, YES, House, Person

SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), ttl_s=30, approvers=("boss",))
STATUS = ToolCall("c1", "bash", {"command": "git status", "path": "/work/a"})


def words(call: ToolCall) -> tuple[str, ...] | None:
    """Of the one argument that a grant can go by; of a call with both, of the command. Of a call of bash alone."""
    if call.name != "bash":
        return None
    found = call.arguments.get("command") or call.arguments.get("path")
    return tuple(found.split()) if isinstance(found, str) and "?" not in found else None


async def asked(house: House, call: ToolCall) -> bool:
    """Whether a person is asked about it, who says no."""
    person = Person([NO])
    await house.allowed(person, call=call)
    return bool(person.requests)


async def test_a_yes_for_an_hour_covers_calls_until_that_is_over() -> None:
    now = [1000.0]
    house = House(SHELL, clock=lambda: now[0])
    assert await house.allowed(Person([replace(YES, grant="1h")]))
    [grant] = await house.approvals.grants.held()
    assert (grant.until, grant.session) == (1000.0 + 3600.0, STEP.session_key)
    now[0] = 4599.0
    assert not await asked(house, CALL)
    now[0] = 4601.0
    assert await asked(house, CALL)


async def test_a_yes_for_the_conversation_has_no_end_and_says_for_whom_and_whose_it_is() -> None:
    house = House(SHELL)
    assert await house.allowed(Person([SESSION]))
    [grant] = await house.approvals.grants.held()
    assert (grant.until, grant.to, grant.by, grant.prefix) == (0.0, "telegram:boss", "boss", ())
    assert (grant.asker, grant.session) == (house.approvals.wishes(STEP, CALL)[0].asker, STEP.session_key)


async def test_a_yes_for_always_covers_every_conversation_of_whoever_asked_and_says_so() -> None:
    house = House(replace(SHELL, terms=Terms(grants=("session", "always"))))
    assert await house.allowed(Person([replace(YES, grant="always")]))
    [grant] = await house.approvals.grants.held()
    assert (grant.session, grant.until) == ("", 0.0)
    assert grant.text == "every bash call that rule:shell asks about"
    elsewhere = replace(STEP, inbound=replace(STEP.inbound, chat=replace(STEP.chat, chat_id="43")))
    person = Person([NO])
    assert await house.allowed(person, elsewhere)
    assert person.requests == []


@pytest.mark.parametrize(
    ("within", "command", "again"),
    [
        ("git", "git push", False),
        ("git", "git", False),
        ("git", "rm git", True),
        ("git status", "git status -s", False),
        ("git status", "git push", True),
        # It would not cover what was asked about, or cannot be told: then it is for this once.
        ("git push", "git status", True),
        ("rm", "rm", True),
        ("?", "git status", True),
        # What cannot be told of a later call is no part of it.
        ("git", "git ?", True),
    ],
)
async def test_a_yes_for_what_begins_so_covers_that_alone(within: str, command: str, again: bool) -> None:
    house = House(SHELL, parts=words)
    assert await house.allowed(Person([replace(SESSION, within=within)]), call=STATUS)
    assert all(it.text.endswith(f"that begins with {within}") for it in await house.approvals.grants.held())
    assert await asked(house, replace(CALL, arguments={"command": command})) is again


async def test_a_yes_can_be_narrowed_to_a_place_too() -> None:
    house = House(SHELL, parts=words)
    reading = ToolCall("c1", "bash", {"path": "src a", "lines": 3})
    assert await house.allowed(Person([replace(SESSION, within="src")]), call=reading)
    [grant] = await house.approvals.grants.held()
    assert grant.prefix == ("src",)
    assert grant.text.endswith("that begins with src")
    assert not await asked(house, replace(CALL, arguments={"path": "src b"}))
    assert await asked(house, replace(CALL, arguments={"path": "tests"}))


async def test_a_yes_covers_nothing_where_tools_work_in_another_folder() -> None:
    house = House(SHELL)
    elsewhere = House(SHELL, journal=house.journal, directory="/elsewhere")
    assert await house.allowed(Person([SESSION]))
    subject, [wish] = await house.subject(), house.approvals.wishes(STEP, CALL)
    covered = [await it.approvals.grants.covering(subject, wish) is not None for it in (house, elsewhere)]
    assert covered == [True, False]


async def test_what_covers_a_call_already_is_not_granted_twice() -> None:
    house = House(SHELL, parts=words)
    subject, [wish] = await house.subject(call=STATUS), house.approvals.wishes(STEP, STATUS)
    vote = Vote("boss", True, grant="session", voter=Voter("telegram", "boss"))
    for _ in range(2):
        await house.approvals.grants.give(subject, wish, [vote], "R1")
    assert len(await house.approvals.grants.held()) == 1


async def test_what_was_taken_back_does_not_come_back_with_a_call_that_a_crash_has_cut_off() -> None:
    house = House(SHELL)
    subject, wishes = await house.subject(), house.approvals.wishes(STEP, CALL)
    assert isinstance(await house.approvals.settle(subject, wishes, Person([SESSION])), Permit)
    [grant] = await house.approvals.grants.held()
    await house.approvals.grants.revoke(grant.id)
    again = House(SHELL, journal=house.journal)
    # Its own yes stands, which it has not used yet.
    assert isinstance(await again.approvals.settle(subject, wishes, Person()), Permit)
    assert await again.approvals.grants.held() == ()


async def test_grants_of_an_asker_that_asks_no_more_end_at_the_next_look_and_others_stay() -> None:
    house = House(SHELL)
    assert await house.allowed(Person([SESSION]))
    house.approvals.grants.end(["somebody else"])
    [held] = await house.approvals.grants.held()
    house.approvals.grants.end([held.asker])
    assert await house.approvals.grants.held() == ()
    assert await house.allowed(Person([SESSION]))
    [again] = await house.approvals.grants.held()
    assert again.id != held.id


@pytest.mark.parametrize(
    ("parts", "prefix", "does"),
    [
        (("git", "push"), ("git",), True),
        (("git",), ("git",), True),
        (("git",), ("git", "push"), False),
        (("rm",), ("git",), False),
        (None, (), False),
    ],
)
def test_parts_begin_with_a_prefix_word_by_word(
    parts: tuple[str, ...] | None, prefix: tuple[str, ...], does: bool
) -> None:
    assert begins(parts, prefix) is does


async def test_requests_are_named_by_as_much_of_their_id_as_makes_them_out() -> None:
    house, person = House(SHELL), Person()
    subject = await house.subject()
    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.approvals.settle, subject, house.approvals.wishes(STEP, CALL), person)
            await person.asked.wait()
            [request] = person.requests
            boss, eve = Voter("telegram", "boss"), Voter("telegram", "eve")
            assert await house.approvals.named(request.id[:4]) == (request.id,)
            assert await house.approvals.named("none begins so") == ()
            assert [it.request.id for it in await house.approvals.decidable(boss)] == [request.id]
            assert await house.approvals.decidable(eve) == ()
            await house.approvals.decide(request.id, NO, boss)
    # What is decided can still be asked for; nobody has a say in it any more.
    assert await house.approvals.named(request.id[:4]) == (request.id,)
    assert await house.approvals.decidable(boss) == ()


@pytest.mark.parametrize(
    ("stricter", "again"),
    [
        (Wish("hook:a", "Another question?", "of other words", ttl_s=5), False),
        (Wish("hook:a", approvers=("boss", "ann")), True),
        (Wish("hook:a", terms=Terms(required=2)), True),
        (Wish("hook:a", terms=Terms(self_approval=False)), True),
    ],
)
async def test_a_yes_to_a_hook_covers_nothing_about_which_it_asks_others(stricter: Wish, again: bool) -> None:
    house = House()
    assert isinstance(await house.settle([Wish("hook:a")], Person([SESSION])), Permit)
    person = Person([NO])
    settled = await house.settle([stricter], person)
    assert (isinstance(settled, NotApproved), isinstance(settled, Permit)) == (again, not again)


async def test_a_yes_of_those_whom_a_hook_names_covers_what_it_asks_the_same_people() -> None:
    house = House()
    assert isinstance(await house.settle([Wish("hook:a", approvers=("boss", "ann"))], Person([SESSION])), Permit)
    assert isinstance(await house.settle([Wish("hook:a", approvers=("ann", "boss"))], Person()), Permit)


async def test_what_was_allowed_before_a_crash_is_asked_anew_where_the_hook_wants_others_now() -> None:
    house = House()
    subject = await house.subject(replace(STEP, resumed=True))
    assert isinstance(await house.approvals.settle(subject, [Wish("hook:a")], Person([YES])), Permit)
    again = House(journal=house.journal)
    asked = Wish("hook:a", approvers=("boss", "ann"))
    assert isinstance(await again.approvals.settle(subject, [Wish("hook:a")], Person()), Permit)
    assert isinstance(await again.approvals.settle(subject, [asked], Person([NO])), NotApproved)
