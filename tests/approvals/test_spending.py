"""What lets a call begin: its yes and its grants, where scripts, rules and people are still those of the question."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from hookgate.approvals.binding import Permit, Subject
from hookgate.approvals.rules import Rule, revision
from hookgate.protocol.hook.judgement import Judgement
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.journal.values import PolicyChanged
from hookgate.store.journal import open_journal
from hookgate.store.journal.audit.chain import links
from hookgate.store.journal.operators.looking import open_look
from tests.approvals.asking import CALL, SESSION, STEP, YES, House, Person

SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), approvers=("boss",))
WRITING = Rule("writing", Matcher({"tools": Globs(("write",))}))


async def permitted(house: House, subject: Subject | None = None) -> Permit:
    subject, person = subject or await house.subject(), Person([YES])
    permit = await house.approvals.settle(subject, house.approvals.wishes(subject.step, CALL), person)
    assert isinstance(permit, Permit)
    return permit


async def test_a_call_that_a_lasting_yes_covers_begins_unless_that_is_taken_back_meanwhile() -> None:
    house = House(SHELL)
    assert await house.allowed(Person([SESSION]))
    [grant] = await house.approvals.grants.held()
    one, other = await permitted(house), await permitted(house)
    await house.approvals.spend(one)
    await house.approvals.grants.revoke(grant.id)
    with pytest.raises(PolicyChanged, match="taken back"):
        await house.approvals.spend(other)


async def test_a_call_does_not_begin_where_a_file_that_it_runs_is_another_one_by_then() -> None:
    scripts = {"ls": "as it was shown"}
    house = House(SHELL, scripts=lambda call: scripts[str(call.arguments["command"])])
    one, other = await permitted(house), await permitted(house)
    await house.approvals.spend(one)
    scripts["ls"] = "something else"
    with pytest.raises(PolicyChanged, match="a file that it runs or changes is another one than was shown"):
        await house.approvals.spend(other)


async def test_a_yes_to_what_was_drawn_from_another_file_is_none_though_the_first_one_is_there_again() -> None:
    house = House(SHELL, scripts=lambda _call: "what the yes is bound to")
    wishes = house.approvals.wishes(STEP, CALL)
    drawn = [
        Person([replace(YES, files=it)]) for it in ("what was there for a moment", "", "what the yes is bound to")
    ]
    for person in drawn[:2]:
        with pytest.raises(PolicyChanged, match="another one than was shown"):
            await house.settle(wishes, person)
        assert [(it.counted, it.state) for it in person.outcomes] == [(False, "void")]
    assert isinstance(await house.settle(wishes, drawn[2]), Permit)


async def test_a_call_does_not_begin_under_other_rules_than_it_was_asked_by() -> None:
    house = House(SHELL)
    permit = await permitted(house)
    house.approvals.adopt([replace(SHELL, ttl_s=5)])
    with pytest.raises(PolicyChanged, match="the rules for it have changed"):
        await house.approvals.spend(permit)


async def test_the_audit_says_by_which_rules_each_call_began_and_what_hooks_had_said_of_it(tmp_path: Path) -> None:
    file = tmp_path / "journal.db"
    async with open_journal(file, "process", lambda: 1000.0) as journal:
        house = House(SHELL, journal=journal)
        step = replace(STEP)
        step.heard[CALL.id] = [Judgement("before_tool", "guard", "d", "continue")]
        await house.approvals.spend(await permitted(house, await house.subject(step)))
        house.approvals.adopt([SHELL, WRITING])
        await house.approvals.spend(await permitted(house))
    with open_look(file) as tables:
        bodies = [json.loads(link.body) for link in links(tables)]
    begun = [(it["policy"], [hook["hook"] for hook in it["hooks"]]) for it in bodies if it["kind"] == "intended"]
    assert begun == [(revision([SHELL]), ["guard"]), (revision([SHELL, WRITING]), [])]


async def test_a_call_that_goes_on_after_a_crash_is_kept_as_it_began_and_others_are_not() -> None:
    house = House(SHELL)
    subjects = [replace(await house.subject(), goes_on=it) for it in (True, False)]
    for subject in subjects:
        await house.approvals.spend(await permitted(house, subject))
    stored = await house.journal.work.load(subjects[0].claim.conversation)
    assert [stored.call(it.id).begun for it in subjects] == [CALL, None]
