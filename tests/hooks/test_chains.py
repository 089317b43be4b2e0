"""One set of hooks after another: whether somebody has come who has not judged a call."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookgate.hooks.chains import Chains
from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.hook.hello import Hello
from hookgate.protocol.hook.stages import Question, Stage
from tests.hooks.doubles import CALL, STEP, Asked, hook, matching

BEFORE, APPROVE = Stage.BEFORE_TOOL, Stage.APPROVE_TOOL


def one(name: str, *stages: Stage, rules: Rules | None = None, program: object = None) -> Mount:
    return replace(hook(name, Asked().saying(name), *stages, rules=rules), program=program)


def declaring(*stages: Stage) -> Mount:
    mount = one("a")
    assert isinstance(mount.hook, InsideHook)
    mount.hook.declared = Hello(stages=frozenset(stages))
    return mount


@pytest.mark.parametrize(
    ("before", "now", "came"),
    [
        ([], [], False),
        ([], [one("a")], True),
        ([], [one("a", APPROVE)], True),
        ([], [one("a", Stage.AFTER_TOOL)], False),
        ([one("a")], [one("a")], False),
        ([one("a")], [one("b")], True),
        ([one("a")], [], False),
        ([one("a")], [one("a"), one("z", APPROVE)], True),
        ([one("a")], [one("a", BEFORE, APPROVE)], True),
        ([one("a", program="1")], [one("a", program="2")], True),
        ([one("a")], [one("a", rules=Rules(may_respond_unapproved=True))], True),
        ([], [one("a", rules=Rules(mode="audit"))], False),
        ([], [one("a", rules=Rules(match=matching(tools="write")))], False),
        ([], [one("a", rules=Rules(match=matching(tools="bash")))], True),
        ([], [one("a", rules=Rules(match=matching(channels="slack")))], False),
        ([], [declaring()], False),
        ([], [declaring(BEFORE)], True),
    ],
)
def test_a_call_is_to_be_judged_again_where_somebody_has_come_who_has_not_judged_it(
    before: list[Mount], now: list[Mount], came: bool
) -> None:
    assert Chains(now).came_since(Chains(before), STEP, CALL) is came


def test_the_set_that_has_judged_a_call_need_not_be_looked_at() -> None:
    chains = Chains([one("a")])
    assert not chains.came_since(chains, STEP, CALL)


def test_who_matches_is_known_by_all_that_a_match_can_be_about() -> None:
    chains = Chains([one("a", rules=Rules(match=matching(tools="bash", agents="main", models="openai/*")))])
    question = Question(BEFORE, STEP, CALL)
    assert [it.name for it in chains.matching(question)] == ["a"]
    assert chains.matching(replace(question, subject=replace(CALL, name="write"))) == ()
    assert chains.matching(replace(question, step=replace(STEP, agent="other"))) == ()
    assert chains.matching(replace(question, step=replace(STEP, model="other/gpt"))) == ()
    assert chains.matching(replace(question, stage=APPROVE)) == ()
    assert [it.name for it in chains.matching(question)] == ["a"]
