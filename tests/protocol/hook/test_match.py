"""Which calls and events a hook sees, and in which words that is explained."""

from __future__ import annotations

from dataclasses import replace

import pytest

from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.events.payloads import PAYLOADS, GateDecision
from hookgate.protocol.hook.match import CRITERIA, Globs, Matcher, Observed, unknown_event
from hookgate.protocol.values import Step

CHAT = Chat("telegram", "-42", sender="501", chat_type="group", thread="7")
STEP = Step("main", "t", Inbound(CHAT, "x"), model="openai/gpt-4o", roles=("ops",))


@pytest.mark.parametrize(
    ("patterns", "value", "covered"),
    [
        ([], "anything", True),
        (["*"], "", True),
        (["bash"], "bash", True),
        (["bash"], "Bash", False),
        (["bash"], "bash2", False),
        (["ba*"], "bash", True),
        (["b?sh"], "bash", True),
        (["[bc]ash"], "cash", True),
        (["a", "b"], "b", True),
        (["!bash"], "bash", False),
        (["!bash"], "read", True),
        (["*", "!bash"], "bash", False),
        (["!bash", "*"], "bash", False),
        (["b*", "!bash"], "bat", True),
        (["!b*", "!c*"], "cat", False),
        (["a.b"], "axb", False),
        (["openai/*"], "openai/a/b", True),
        (["bash"], "bash\n", False),
    ],
)
def test_globs_include_and_exclude(patterns: list[str], value: str, covered: bool) -> None:
    assert Globs(tuple(patterns)).covers(value) is covered


def _matcher(**criteria: list[str]) -> Matcher:
    return Matcher({name: Globs(tuple(patterns)) for name, patterns in criteria.items()})


MATCHING = {
    "channels": "telegram",
    "chats": "-42",
    "chat_types": "group",
    "threads": "7",
    "senders": "501",
    "roles": "ops",
    "tools": "bash",
    "models": "openai/*",
    "agents": "main",
}


@pytest.mark.parametrize("criterion", CRITERIA)
def test_each_criterion_alone_decides(criterion: str) -> None:
    assert _matcher(**{criterion: [MATCHING[criterion]]}).matches(STEP, "bash")
    assert not _matcher(**{criterion: ["other"]}).matches(STEP, "bash")
    assert not _matcher(**{criterion: ["!" + MATCHING[criterion]]}).matches(STEP, "bash")


def test_all_criteria_together_must_cover() -> None:
    good = {name: [glob] for name, glob in MATCHING.items()}
    assert _matcher(**good).matches(STEP, "bash")
    for name in CRITERIA:
        assert not _matcher(**{**good, name: ["other"]}).matches(STEP, "bash")


def test_no_criterion_matches_everything() -> None:
    assert Matcher().matches(None)
    assert Matcher().matches(STEP, "bash", "m")


def test_a_criterion_about_what_the_call_does_not_have_does_not_count() -> None:
    assert _matcher(tools=["bash"]).matches(STEP)
    assert _matcher(models=["x/y"]).matches(None)
    assert _matcher(channels=["slack"], senders=["9"]).matches(None)


def test_an_unknown_sender_is_not_covered_by_a_list_of_senders() -> None:
    nobody = Step("main", "t", Inbound(Chat("telegram", "1"), "x"))
    assert not _matcher(senders=["501"]).matches(nobody)
    assert _matcher(senders=["!501"]).matches(nobody)


def test_one_role_is_enough_and_one_that_is_excluded_too_many() -> None:
    both, none = replace(STEP, roles=("guest", "ops")), replace(STEP, roles=())
    assert [_matcher(roles=["ops"]).matches(it) for it in (both, none)] == [True, False]
    assert [_matcher(roles=["!guest"]).matches(it) for it in (both, none)] == [False, True]
    assert _matcher(roles=["dev"]).mismatch(both) == "roles = ['dev'] does not cover 'guest', 'ops'"


def test_the_model_of_the_request_beats_the_one_of_the_step() -> None:
    assert not _matcher(models=["openai/*"]).matches(STEP, "", "anthropic/x")
    assert _matcher(models=["openai/*"]).matches(STEP, "", "")


def test_a_mismatch_is_explained_in_words() -> None:
    matcher = _matcher(channels=["telegram"], chats=["1", "2"])
    assert matcher.mismatch(STEP) == "chats = ['1', '2'] does not cover '-42'"
    assert _matcher(channels=["telegram"]).mismatch(STEP) is None


@pytest.mark.parametrize(
    ("patterns", "covered"),
    [
        ([], set[str]()),
        (["*"], {p.kind for p in PAYLOADS} - {"gate_decision", "stage_call"}),
        (["turn_*"], {"turn_start", "turn_end"}),
        (["agent.turn.*"], {"turn_start", "turn_end"}),
        (["tool_exec_end", "agent.llm.request"], {"tool_exec_end", "llm_request"}),
        (["turn_*", "!turn_start"], {"turn_end"}),
        (["turn_*", "!agent.turn.start"], {"turn_end"}),
        (["agent.turn.*", "!turn_start"], {"turn_end"}),
        (["*", "!*"], set[str]()),
        (["gate_*"], set[str]()),
        (["gate_decision"], {"gate_decision"}),
        (["hookgate.gate_decision"], {"gate_decision"}),
        (["*", "gate_decision", "!turn_*"], {p.kind for p in PAYLOADS} - {"turn_start", "turn_end", "stage_call"}),
    ],
)
def test_observed_kinds_are_named_in_either_spelling(patterns: list[str], covered: set[str]) -> None:
    observed = Observed(tuple(patterns))
    assert {p.kind for p in PAYLOADS if observed.covers(p.kind, p.runtime)} == covered


@pytest.mark.parametrize(
    ("pattern", "unknown"),
    [
        ("*", False),
        ("turn_*", False),
        ("agent.turn.end", False),
        ("!tool_exec_end", False),
        ("!turn_ended", True),
        ("turn_ended", True),
        ("Turn_end", True),
        ("", True),
        ("gate_decision", False),
    ],
)
def test_a_pattern_that_covers_nothing_is_a_mistake(pattern: str, unknown: bool) -> None:
    assert unknown_event(pattern) is unknown


def test_gate_decisions_are_on_demand_in_both_spellings() -> None:
    assert not Observed(("*", "hookgate.*")).covers(GateDecision.kind, GateDecision.runtime)
