"""Questions, answers and grants after the death of the process that they were given to."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
import trio

from hookgate.approvals.binding import Permit, Subject
from hookgate.approvals.rules import Rule
from hookgate.protocol.approval import ApprovalRequest, Voter
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.values import AlreadyIntended, Arrival
from hookgate.protocol.values import ToolCall
from hookgate.redaction import Redactor
from hookgate.store.journal import open_journal
from tests.approvals.asking import CALL, NO, SESSION, STEP, YES, House, Person

SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), approvers=("boss",))
SECRET = ToolCall("c1", "bash", {"command": "echo s3cr3t-value"})
BOSS = Voter("telegram", "boss")
DEADLINE_S = 60.0


async def killed(
    folder: Path, *, call: ToolCall = CALL, first: Sequence[Person] = ()
) -> tuple[Path, ApprovalRequest]:
    """A journal as it lies there when the gateway dies while somebody thinks about a call, and what they were shown.
    `first`: those who were asked before."""
    alive, dead = folder / "alive", folder / "dead"
    alive.mkdir()
    async with open_journal(alive / "journal.db", "process", lambda: 1000.0) as journal:
        house, person = House(SHELL, redactor=Redactor(["s3cr3t-value"]), journal=journal), Person()
        for before in first:
            assert await house.allowed(before, call=replace(call, origin="text"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(house.settle, house.approvals.wishes(STEP, call), person, STEP, call)
            await person.asked.wait()
            shutil.copytree(alive, dead)
            nursery.cancel_scope.cancel()
    return dead / "journal.db", person.requests[0]


async def test_a_question_that_was_shown_before_a_crash_can_be_answered_after_it(tmp_path: Path) -> None:
    with trio.fail_after(DEADLINE_S):
        file, shown = await killed(tmp_path, call=SECRET)
        assert shown.unredacted is not None
        async with open_journal(file, "process", lambda: 1000.0) as journal:
            house = House(SHELL, journal=journal)
            approvals = house.approvals
            assert [it.shown for it in await approvals.pending()] == [shown]
            assert (await approvals.decide(shown.id, YES, BOSS)).counted
            # The same call, asked about again: what was said counts, and nobody is asked twice.
            person = Person()
            permit = await house.settle(approvals.wishes(STEP, SECRET), person, call=SECRET)
            assert isinstance(permit, Permit)
            assert [it.request for it in permit.approvals] == [shown.id]
            assert person.requests == []
            await approvals.spend(permit)
            with pytest.raises(AlreadyIntended):
                await approvals.spend(permit)


async def test_a_call_that_is_another_after_a_crash_voids_the_question_and_is_asked_anew(tmp_path: Path) -> None:
    with trio.fail_after(DEADLINE_S):
        file, shown = await killed(tmp_path)
        async with open_journal(file, "process", lambda: 1000.0) as journal:
            house, person = House(SHELL, journal=journal), Person([NO])
            assert not await house.allowed(person, call=replace(CALL, arguments={"command": "rm"}))
            assert len(person.requests) == 1
            came = await house.approvals.decide(shown.id, YES, BOSS)
            assert came.text == "It is too late: the call, or the rules for it, changed meanwhile."


async def test_a_call_of_an_extension_that_is_stopped_leaves_no_question_in_the_file(tmp_path: Path) -> None:
    with trio.fail_after(DEADLINE_S):
        async with open_journal(tmp_path / "journal.db", "process", lambda: 1000.0) as journal:
            house, person, step = House(SHELL, journal=journal), Person(), replace(STEP, extension="todo")
            took = await journal.intake.accept(Arrival(step.inbound, "main", ""))
            claim = await journal.work.claim("gateway", 60, took.conversation, took.id)
            assert claim is not None
            subject, wishes = Subject(claim, step, CALL, "1.0"), house.approvals.wishes(step, CALL)
            async with trio.open_nursery() as nursery:
                nursery.start_soon(house.approvals.settle, subject, wishes, person)
                await person.asked.wait()
                nursery.cancel_scope.cancel()
            assert await house.approvals.pending() == ()
            came = await house.approvals.decide(person.requests[0].id, YES, BOSS)
            assert came.text == "It is too late: the turn was stopped."


async def test_what_was_allowed_for_a_conversation_stands_after_a_crash(
    tmp_path: Path,
) -> None:
    with trio.fail_after(DEADLINE_S):
        file, _ = await killed(tmp_path, first=[Person([SESSION])])
        async with open_journal(file, "process", lambda: 1000.0) as journal:
            house, written = House(SHELL, journal=journal), replace(CALL, origin="text")
            assert await house.allowed(Person(), call=written)
            [grant] = await house.approvals.grants.held(STEP.session_key)
            assert await house.approvals.grants.held("telegram:43") == ()
            assert await house.approvals.grants.revoke(grant.id)
            assert not await house.allowed(Person([NO]), call=written)
