"""The desk: what rules demand, what a person may answer, and that everything else is a no."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field, replace

import pytest
import trio
import trio.testing

from hookgate.approvals.desk import Desk, Refused, digest
from hookgate.approvals.rules import TTL_S, Rule
from hookgate.protocol.approval import ApprovalRequest, Decision, Lasting, Wish
from hookgate.protocol.match import Globs, Matcher
from hookgate.protocol.payloads import ApprovalDecided, ApprovalRequested, Payload
from hookgate.protocol.values import Chat, Inbound, Outbound, Step, ToolCall
from hookgate.redaction import Redactor

STEP = Step("main", "t", Inbound(Chat("telegram", "42", sender="boss"), "x"), model="openai/gpt")
CALL = ToolCall("c1", "bash", {"command": "ls"})
SHELL = Rule("shell", Matcher({"tools": Globs(("bash",))}), ttl_s=30, approvers=("boss",))

YES, NO = Decision(True, "boss"), Decision(False, "boss", "not today")


@dataclass
class Person:
    """A channel with somebody behind it who answers each request in turn; with no answer left they stay silent."""

    answers: list[Decision | Callable[[ApprovalRequest], Decision]] = field(default_factory=list)
    requests: list[ApprovalRequest] = field(default_factory=list)
    name: str = "telegram"

    async def approve(self, request: ApprovalRequest) -> Decision:
        self.requests.append(request)
        if not self.answers:
            await trio.sleep_forever()
        answer = self.answers.pop(0)
        return answer(request) if callable(answer) else answer

    async def send(self, outbound: Outbound) -> None: ...

    def stream(self, chat: Chat, text: str) -> None: ...

    def restart_stream(self, chat: Chat) -> None: ...


def _desk(*rules: Rule) -> tuple[Desk, list[Payload]]:
    told: list[Payload] = []
    return Desk(rules, lambda payload, _step: told.append(payload)), told


async def test_always_is_kept_by_who_offers_it_and_by_nobody_else() -> None:
    kept: list[str] = []
    always = replace(YES, grant="always")
    desk, told = _desk(
        Rule("made", once=True, lasting=lambda call: Lasting(f"{call.name} as it is", kept.append)), SHELL
    )
    person = Person([always, always, YES, replace(YES, grant="session"), YES, always])
    for _ in range(3):
        assert await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), person) is None
    assert [it.always for it in person.requests] == ["bash as it is", "", "bash as it is", "", "bash as it is"]
    assert kept == ["boss"]
    assert [it.grant for it in told if isinstance(it, ApprovalDecided)] == [
        *("always", "once", "once", "session", "once"),
    ]


async def test_nobody_is_asked_without_a_wish() -> None:
    person = Person()
    assert await _desk()[0].settle(STEP, CALL, (), person) is None
    assert person.requests == []


async def test_a_yes_lets_the_call_run_once_and_is_asked_again_the_next_time() -> None:
    desk, _ = _desk(SHELL)
    person = Person([YES, NO])
    assert await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), person) is None
    assert await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), person) == Refused("approval:A2", "not today")


async def test_the_person_sees_the_very_call_and_who_wants_it_asked() -> None:
    desk, _ = _desk()
    person = Person([YES])
    await desk.settle(STEP, CALL, [Wish("hook:policy", "Really?", "it deletes", ("boss",), 7)], person)
    (request,) = person.requests
    assert (request.call, request.chat, request.asked_by) == (CALL, STEP.chat, "hook:policy")
    assert (request.title, request.text, request.approvers, request.ttl_s) == ("Really?", "it deletes", ("boss",), 7)
    assert request.digest == digest(STEP.session_key, CALL, "hook:policy")


async def test_a_wish_that_says_little_gets_the_usual_title_and_time() -> None:
    desk, _ = _desk()
    person = Person([YES])
    await desk.settle(STEP, CALL, [Wish("rule:shell")], person)
    assert (person.requests[0].title, person.requests[0].ttl_s) == ("Run bash?", TTL_S)


async def test_a_call_of_an_extension_says_whose_it_is() -> None:
    desk, _ = _desk()
    person = Person([NO])
    await desk.settle(replace(STEP, extension="todo"), CALL, [Wish("rule:a")], person)
    assert person.requests[0].title == f"The extension todo wants to run {CALL.name}."


async def test_what_is_hidden_in_a_question_can_be_revealed_and_its_digest_is_of_the_true_call() -> None:
    told: list[Payload] = []
    desk = Desk([], lambda payload, _step: told.append(payload), Redactor(["s3cr3t-value"]))
    call = replace(CALL, arguments={"command": "echo cookie: s3cr3t-value; touch X", "password": "$(touch Y)"})
    wish = Wish("hook:a", "Say cookie: s3cr3t-value ?", "API_KEY=$(touch Z)")
    person = Person([YES])
    assert await desk.settle(STEP, call, [wish], person) is None
    (request,) = person.requests
    assert re.fullmatch(r"echo cookie: \[REDACTED:\w{4}\]; touch X", str(request.call.arguments["command"]))
    assert (request.call.arguments["password"], request.text) == ("$(touch Y)", "API_KEY=$(touch Z)")
    assert request.unredacted is not None
    assert (request.unredacted.call, request.unredacted.title) == (call, wish.title)
    assert "s3cr3t-value" not in repr(request)
    assert isinstance(told[0], ApprovalRequested)
    assert isinstance(told[1], ApprovalDecided)
    assert {request.digest, told[0].digest, told[1].digest} == {digest(STEP.session_key, call, "hook:a")}
    assert "s3cr3t-value" not in repr(told[0])


async def test_what_hides_nothing_has_nothing_to_reveal() -> None:
    desk = Desk([], lambda _payload, _step: None, Redactor(["s3cr3t-value"]))
    person = Person([YES])
    await desk.settle(STEP, CALL, [Wish("rule:a")], person)
    assert person.requests[0].unredacted is None


@pytest.mark.parametrize(("decision", "reason"), [(NO, "not today"), (Decision(False, "boss"), "boss said no")])
async def test_the_first_no_is_final_and_the_other_wishes_are_not_asked(decision: Decision, reason: str) -> None:
    desk, _ = _desk()
    person = Person([decision])
    refused = await desk.settle(STEP, CALL, [Wish("rule:a"), Wish("rule:b")], person)
    assert refused == Refused("approval:A1", reason)
    assert len(person.requests) == 1


async def test_every_wish_needs_its_own_yes() -> None:
    desk, _ = _desk()
    person = Person([YES, NO])
    refused = await desk.settle(STEP, CALL, [Wish("rule:a"), Wish("hook:b")], person)
    assert refused == Refused("approval:A2", "not today")


async def test_silence_is_a_no(autojump_clock: trio.testing.MockClock) -> None:
    desk, told = _desk(SHELL)
    refused = await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), Person())
    assert refused == Refused("approval:A1", "nobody answered within 30 s")
    assert trio.current_time() >= 30
    assert told == [
        ApprovalRequested("A1", "bash", "rule:shell", "Run bash?", 30, digest(STEP.session_key, CALL, "rule:shell")),
        ApprovalDecided(
            "A1", "bash", False, "nobody", digest(STEP.session_key, CALL, "rule:shell"), "nobody answered within 30 s"
        ),
    ]


async def test_a_decision_is_told_with_who_made_it_and_how_far_it_reaches() -> None:
    desk, told = _desk()
    await desk.settle(STEP, CALL, [Wish("rule:a")], Person([Decision(True, "boss", grant="session")]))
    assert told[1] == ApprovalDecided(
        "A1", "bash", True, "boss", digest(STEP.session_key, CALL, "rule:a"), None, "session"
    )


SESSION = Decision(True, "boss", grant="session")


@pytest.mark.parametrize(
    ("step", "call", "wish", "asked"),
    [
        (STEP, CALL, Wish("rule:a"), False),
        (STEP, replace(CALL, id="c2", arguments={"command": "rm"}), Wish("rule:a"), False),
        (STEP, CALL, Wish("rule:b"), True),
        (STEP, CALL, Wish("hook:a"), True),
        (STEP, replace(CALL, name="write"), Wish("rule:a"), True),
        (Step("main", "t", Inbound(Chat("telegram", "43"), "x")), CALL, Wish("rule:a"), True),
        (Step("main", "t", Inbound(Chat("telegram", "42", thread="1"), "x")), CALL, Wish("rule:a"), True),
        (replace(STEP, extension="todo"), CALL, Wish("rule:a"), True),
    ],
)
async def test_a_session_grant_covers_this_tool_this_asker_and_this_conversation(
    step: Step, call: ToolCall, wish: Wish, asked: bool
) -> None:
    desk, _ = _desk()
    await desk.settle(STEP, CALL, [Wish("rule:a")], Person([SESSION]))
    person = Person([NO])
    assert (await desk.settle(step, call, [wish], person) is not None) is asked
    assert bool(person.requests) is asked


async def test_a_refusal_grants_nothing_whatever_grant_it_names() -> None:
    desk, _ = _desk()
    await desk.settle(STEP, CALL, [Wish("rule:a")], Person([replace(NO, grant="session")]))
    assert await desk.settle(STEP, CALL, [Wish("rule:a")], Person([NO])) is not None


async def test_forgetting_a_conversation_voids_its_grants_and_no_others() -> None:
    desk, _ = _desk()
    other = Step("main", "t", Inbound(Chat("telegram", "43"), "x"))
    for step in (STEP, other):
        await desk.settle(step, CALL, [Wish("rule:a")], Person([SESSION]))
    desk.forget(STEP.session_key)
    assert await desk.settle(other, CALL, [Wish("rule:a")], Person()) is None
    assert await desk.settle(STEP, CALL, [Wish("rule:a")], Person([NO])) is not None


async def test_cancelling_the_turn_while_a_person_thinks_grants_nothing() -> None:
    desk, _ = _desk()
    with trio.move_on_after(0.01) as scope:
        await desk.settle(STEP, CALL, [Wish("rule:a")], Person())
    assert scope.cancelled_caught
    assert await desk.settle(STEP, CALL, [Wish("rule:a")], Person([NO])) is not None


def test_the_digest_binds_tool_arguments_session_and_asker() -> None:
    base = digest("s", CALL, "rule:a")
    assert base == digest("s", replace(CALL, id="other"), "rule:a")
    assert digest("s", replace(CALL, arguments={"a": 1, "b": 2}), "r") == digest(
        "s", replace(CALL, arguments={"b": 2, "a": 1}), "r"
    )
    others = {
        digest("s2", CALL, "rule:a"),
        digest("s", CALL, "rule:b"),
        digest("s", replace(CALL, name="sh"), "rule:a"),
        digest("s", replace(CALL, arguments={"command": "ls "}), "rule:a"),
        digest("s", replace(CALL, arguments={"command": "ls", "n": 2**70}), "rule:a"),
        digest("s", replace(CALL, arguments={"command": "ls", "n": 2**70 + 1}), "rule:a"),
    }
    assert base not in others
    assert len(others) == 6


async def test_who_is_not_among_the_approvers_is_not_even_asked() -> None:
    stranger = Step("main", "t", Inbound(Chat("telegram", "42", sender="501"), "x"), model="openai/gpt")
    person = Person([YES])
    desk = Desk([SHELL], lambda _payload, _step: None)
    refused = await desk.settle(stranger, CALL, desk.wishes(stranger, CALL), person)
    assert refused == Refused("rule:shell", "only boss may approve this, and nobody of them is here")
    assert person.requests == []


def test_rules_are_exchanged_and_only_a_change_voids_what_was_granted() -> None:
    desk = Desk([SHELL], lambda _payload, _step: None)
    assert not desk.adopt([SHELL])
    assert desk.adopt([])
    assert desk.wishes(STEP, CALL) == ()


async def test_a_yes_for_a_conversation_covers_calls_made_the_same_way_alone() -> None:
    desk, _ = _desk(SHELL)
    session = replace(YES, grant="session")
    person = Person([session, session])
    for call in (CALL, replace(CALL, origin="text"), CALL, replace(CALL, origin="text")):
        assert await desk.settle(STEP, call, desk.wishes(STEP, call), person) is None
    assert [it.call.origin for it in person.requests] == ["native", "text"]


async def test_what_another_approver_refuses_is_not_kept_for_always() -> None:
    kept: list[str] = []
    desk, _ = _desk(Rule("made", once=True, lasting=lambda _call: Lasting("as it is", kept.append)), SHELL)
    person = Person([replace(YES, grant="always"), NO])
    assert await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), person) == Refused("approval:A2", "not today")
    assert kept == []


async def test_a_rule_that_asks_each_time_takes_no_grant_of_another_of_its_name() -> None:
    desk, _ = _desk(Rule("dynamic"), Rule("dynamic", once=True))
    person = Person([replace(YES, grant="session"), YES, YES])
    for _ in range(2):
        assert await desk.settle(STEP, CALL, desk.wishes(STEP, CALL), person) is None
    assert [it.once for it in person.requests] == [False, True, True]
