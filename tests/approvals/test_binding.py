"""The digests: with anything different a yes is for something else."""

from __future__ import annotations

from dataclasses import replace

from hookgate.approvals.binding import Subject, grant_scope, policy, request_digest
from hookgate.protocol.approval import Wish
from hookgate.protocol.chat import Inbound
from hookgate.protocol.journal.values import Claim, Conversation
from hookgate.protocol.values import ToolSpec
from tests.approvals.asking import CALL, STEP

CLAIM = Claim(Conversation("telegram:42", "main"), 1, "gateway", 0.0, message="M1")
SPEC = ToolSpec("bash", "Runs a command.", {"type": "object"})
BASE = Subject(CLAIM, STEP, CALL, "t/0/c1", SPEC)


def changed(**members: object) -> Subject:
    return replace(BASE, call=replace(CALL, **members))  # type: ignore[arg-type]


def test_a_request_is_bound_to_this_very_call() -> None:
    arguments = replace(CALL, arguments={"a": 1, "b": 2}), replace(CALL, arguments={"b": 2, "a": 1})
    first, second = (request_digest(replace(BASE, call=call), "rule:a", "/work") for call in arguments)
    assert first == second
    later = Conversation("telegram:42", "main", 1)
    subjects = [
        BASE,
        replace(BASE, claim=replace(CLAIM, conversation=later)),
        replace(BASE, claim=replace(CLAIM, message="M2")),
        replace(BASE, id="t/1/c1"),
        replace(BASE, step=replace(STEP, agent="other")),
        replace(BASE, step=replace(STEP, extension="todo")),
        replace(BASE, spec=None),
        replace(BASE, spec=replace(SPEC, provider="mcp:files")),
        replace(BASE, spec=replace(SPEC, description="Runs it as root.")),
        replace(BASE, spec=replace(SPEC, parameters={})),
        changed(name="sh"),
        changed(arguments={"command": "ls "}),
        changed(arguments={"command": "ls", "n": 2**70}),
        changed(arguments={"command": "ls", "n": 2**70 + 1}),
    ]
    digests = [request_digest(subject, "rule:a", "/work") for subject in subjects]
    digests += [request_digest(BASE, "rule:b", "/work"), request_digest(BASE, "rule:a", "/elsewhere")]
    assert len(set(digests)) == len(digests)
    assert request_digest(replace(BASE, claim=replace(CLAIM, fence=2)), "rule:a", "/work") == digests[0]


def test_a_grant_is_bound_to_no_call_and_no_arguments() -> None:
    same = [replace(BASE, id="t/1/c2"), changed(arguments={}), replace(BASE, claim=replace(CLAIM, message="M2"))]
    assert len({grant_scope(subject, "rule:a", "telegram:42", "/work") for subject in [BASE, *same]}) == 1


def test_a_grant_is_bound_to_whose_calls_it_covers_and_to_the_tool_as_it_was() -> None:
    other = replace(STEP, inbound=Inbound(replace(STEP.chat, sender="ann"), "x"))
    subjects = [
        BASE,
        replace(BASE, step=other),
        replace(BASE, step=replace(STEP, agent="other")),
        replace(BASE, step=replace(STEP, extension="todo")),
        replace(BASE, spec=replace(SPEC, provider="mcp:x")),
        replace(BASE, spec=replace(SPEC, description="Runs anything.")),
        changed(origin="text"),
    ]
    scopes = [grant_scope(subject, "rule:a", "telegram:42", "/work") for subject in subjects]
    more = (("rule:b", "telegram:42", "/work"), ("rule:a", "", "/work"), ("rule:a", "telegram:42", "/elsewhere"))
    scopes += [grant_scope(BASE, *it) for it in more]
    assert len(set(scopes)) == len(scopes)


def test_the_policy_is_the_rules_by_what_they_say_in_any_order() -> None:
    one, two, hook = Wish("rule:a", content="1"), Wish("rule:b", content="2"), Wish("hook:h")
    assert policy([one, two]) == policy([two, replace(one, asked_by="rule:renamed"), hook])
    assert len({policy(it) for it in ([], [one], [two], [one, two])}) == 4
