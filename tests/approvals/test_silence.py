"""Requests that end without anybody: where time is over, where nobody can be asked, where the call may not wait."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio
import trio.testing

from hookgate.approvals.binding import NotApproved
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import ApprovalRequest, CannotAsk, Decide, Wish
from hookgate.protocol.events.payloads import ApprovalDecided, ApprovalRequested
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.decisions import Vote
from tests.approvals.asking import CALL, STEP, YES, House, Person

SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), ttl_s=30, approvers=("boss",))


@pytest.mark.parametrize(
    "clock", [lambda: 1000.0 + trio.current_time(), lambda: 1000.0], ids=["goes", "stands still"]
)
@pytest.mark.parametrize("ttl_s", [30, 0.5])
async def test_silence_is_a_no_when_its_time_is_over_whatever_the_wall_clock_does(
    clock: Callable[[], float], ttl_s: float, autojump_clock: trio.testing.MockClock
) -> None:
    house, person = House(replace(SHELL, ttl_s=ttl_s), clock=clock), Person()
    ended = await house.settle(house.approvals.wishes(STEP, CALL), person)
    assert trio.current_time() == pytest.approx(ttl_s)
    (request,), reason = person.requests, f"nobody answered within {ttl_s} s"
    assert ended == NotApproved(f"approval:{person.requests[-1].id}", reason)
    assert house.told == [
        ApprovalRequested(request.id, "bash", "rule:shell", "Run bash?", ttl_s, request.digest),
        ApprovalDecided(request.id, "bash", False, "nobody", request.digest, reason),
    ]
    assert house.steps == [STEP, STEP]
    standing = await house.approvals.standing(request.id)
    assert standing is not None
    assert standing.votes in ((), (Vote("nobody", False, reason),))
    # Whoever was asked in place has seen the question go, and sees the call refused.
    assert await house.told_in("telegram") == []


class Broken(Person):
    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.requests.append(request)
        raise OSError("the chat is gone")


class Alone(Person):
    async def ask(self, request: ApprovalRequest, decide: Decide) -> None:
        self.requests.append(request)
        raise CannotAsk("this is a pipe")


@pytest.mark.parametrize(
    ("person", "by", "reason"),
    [
        (Broken, "nobody", "the chat could not ask"),
        (Alone, "telegram", "this is a pipe"),
        (lambda: Person([lambda _request: True]), "nobody", "what was asked gave no decision"),  # type: ignore[list-item]
    ],
)
async def test_who_cannot_be_asked_or_gives_no_decision_has_said_no(
    person: Callable[[], Person], by: str, reason: str
) -> None:
    house, person = House(), person()
    with trio.fail_after(60):
        assert await house.settle([Wish("rule:a")], person) == NotApproved(
            f"approval:{person.requests[-1].id}", reason
        )
    decided = house.told[-1]
    assert isinstance(decided, ApprovalDecided)
    assert (decided.approved, decided.by, decided.reason) == (False, by, reason)
    standing = await house.approvals.standing(decided.id)
    assert standing is not None
    assert standing.votes == (Vote(by, False, reason),)


async def test_a_call_that_may_not_wait_is_refused_for_that_reason_and_nobody_is_asked() -> None:
    house, person = House(SHELL), Person([YES])
    subject = replace(await house.subject(), may_not_wait="it holds what others write to")
    ended = await house.approvals.settle(subject, house.approvals.wishes(STEP, CALL), person)
    assert (ended, person.requests) == (NotApproved("rule:shell", "it holds what others write to"), [])
