"""Rules: which calls each covers, what it is called, and that it counts by what it says, wherever it stands."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from hookgate.approvals.rules import Rule, revision, usual_name, wishes
from hookgate.assembly.hooks.opening import approval_rules
from hookgate.config import parse
from hookgate.protocol.approval import Wish
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.hook.match import Globs, Matcher
from hookgate.protocol.values import Step, ToolCall

STEP = Step("main", "t", Inbound(Chat("telegram", "42", sender="boss"), "x"), model="openai/gpt")
CALL = ToolCall("c1", "bash", {"command": "ls"})
SHELL = Rule("shell", Matcher({"tools": Globs(("bash", "w*"))}), ttl_s=30, approvers=("boss", "ann"))


def asked_by(step: Step, call: ToolCall, *rules: Rule) -> list[str]:
    return [wish.asked_by for wish in wishes(rules, step, call)]


def test_rules_that_match_the_call_are_wishes() -> None:
    everywhere = Rule("all", approvers=("a", "b"))
    elsewhere = Rule("slack", Matcher({"channels": Globs(("slack",))}))
    models = Rule("models", Matcher({"models": Globs(("openai/*",))}))
    rules = (SHELL, everywhere, elsewhere, models)
    assert asked_by(STEP, CALL, *rules) == ["rule:shell", "rule:all", "rule:models"]
    assert asked_by(STEP, replace(CALL, name="read"), *rules) == ["rule:all", "rule:models"]
    [wish] = wishes([SHELL], STEP, CALL)
    assert wish == Wish("rule:shell", approvers=("boss", "ann"), ttl_s=30, content=SHELL.content)


def test_a_rule_can_be_about_calls_of_one_origin_alone() -> None:
    rules = [Rule(name, origins=Globs((name,))) for name in ("text", "native", "extension")]
    rules.append(Rule("written", origins=Globs(("!text",))))
    assert asked_by(STEP, CALL, *rules) == ["rule:native", "rule:written"]
    assert asked_by(STEP, replace(CALL, origin="text"), *rules) == ["rule:text"]
    assert asked_by(replace(STEP, extension="notes"), CALL, *rules) == ["rule:extension", "rule:written"]


@pytest.mark.parametrize(
    ("rule", "same"),
    [
        (replace(SHELL, name="commands"), True),
        (replace(SHELL, match=Matcher({"tools": Globs(("w*", "bash", "w*"))})), True),
        (replace(SHELL, approvers=("ann", "boss")), True),
        (replace(SHELL, describe=lambda _call: "it lists"), True),
        (replace(SHELL, approvers=("boss",)), False),
        (replace(SHELL, ttl_s=31), False),
        (replace(SHELL, once=True), False),
        (replace(SHELL, origins=Globs(("text",))), False),
        (replace(SHELL, match=Matcher({"tools": Globs(("bash", "!w*"))})), False),
        (replace(SHELL, match=Matcher({"chats": Globs(("bash", "w*"))})), False),
        (replace(SHELL, match=Matcher({**SHELL.match.criteria, "chats": Globs(("1",))})), False),
    ],
)
def test_a_rule_counts_by_what_it_says_and_not_by_its_name_or_the_order_of_its_words(rule: Rule, same: bool) -> None:
    assert (rule.content == SHELL.content) is same
    assert (rule.wish(CALL).asker == SHELL.wish(CALL).asker) is same


def test_a_revision_is_of_what_all_rules_say_in_any_order() -> None:
    other = replace(SHELL, ttl_s=31)
    assert revision([SHELL, other]) == revision([other, replace(SHELL, name="commands")])
    assert len({revision(it) for it in ([], [SHELL], [other], [SHELL, other])}) == 4


def test_of_two_rules_that_say_the_same_one_asks() -> None:
    assert len(wishes([SHELL, replace(SHELL, name="commands")], STEP, CALL)) == 1


def test_a_rule_can_say_more_of_a_call_than_its_arguments_do() -> None:
    lists = replace(SHELL, describe=lambda call: f"it runs {call.arguments['command']}")
    assert [rule.wish(CALL).text for rule in (SHELL, lists)] == ["", "it runs ls"]


def test_a_hook_that_asks_counts_by_its_name() -> None:
    assert Wish("hook:policy", "Really?").asker == "hook:policy"


@pytest.mark.parametrize(
    ("criteria", "name"),
    [
        ({"tools": Globs(("bash",))}, "bash"),
        ({"tools": Globs(("bash", "!read")), "chats": Globs(("1",))}, "bash,!read"),
        ({"tools": Globs(("*",)), "channels": Globs(("telegram", "slack"))}, "*@telegram,slack"),
    ],
)
def test_a_rule_that_nobody_has_named_is_called_by_what_it_is_about(criteria: dict[str, Globs], name: str) -> None:
    assert usual_name(Matcher(criteria)) == name


def test_configured_rules_keep_their_name_and_content_when_they_move() -> None:
    first, second = '[[approvals]]\ntools = ["bash"]\n', '[[approvals]]\nname = "1"\ntools = ["ls"]\nttl_s = 5\n'
    there, moved = (approval_rules(parse(text, Path("hookgate.toml"))) for text in (first + second, second + first))
    assert [rule.name for rule in there] == ["bash", "1"]
    assert [(rule.name, rule.content) for rule in moved] == [(rule.name, rule.content) for rule in reversed(there)]
