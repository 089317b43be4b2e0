"""Approvers: all at once, the first refusal is final, and nothing but a yes is one."""

from __future__ import annotations

from itertools import permutations

import pytest
import trio

from hookgate.hooks.inside import InsideHook
from hookgate.hooks.rules import Mount, Rules
from hookgate.protocol.approval import Terms, Wish
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve, Ask, Deny, Failed, Modify, Refuse, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolResult
from tests.hooks.doubles import CALL, STEP, Asked, gate_of, hook, matching, never

AT = Stage.APPROVE_TOOL


def _approver(name: str, answer: Answer, rules: Rules | None = None) -> Mount:
    return hook(name, Asked().saying(name, answer), AT, rules=rules)


def _refused(found: object) -> str:
    assert isinstance(found, ToolResult)
    assert found.is_error
    return found.for_llm


async def test_without_an_approver_nobody_is_asked_and_nothing_refused() -> None:
    assert await gate_of().approve_tool(STEP, CALL) == ()
    other = _approver("slack", Refuse("no"), Rules(match=matching(channels="slack")))
    assert await gate_of(other).approve_tool(STEP, CALL) == ()


@pytest.mark.parametrize("order", list(permutations([Approve(), Ask("t"), Refuse("no")])))
async def test_refuse_beats_ask_beats_approve_in_any_order(order: tuple[Answer, ...]) -> None:
    found = await gate_of(*(_approver(f"h{i}", a) for i, a in enumerate(order))).approve_tool(STEP, CALL)
    assert _refused(found) == "Tool execution denied by approval hook: no"
    asking = [a for a in order if not isinstance(a, Refuse)]
    wishes = await gate_of(*(_approver(f"h{i}", a) for i, a in enumerate(asking))).approve_tool(STEP, CALL)
    assert wishes == (Wish(f"hook:h{asking.index(Ask('t'))}", "t"),)


@pytest.mark.parametrize(
    ("ask", "terms"),
    [
        (Ask("t"), Terms()),
        (Ask("t", required=2), Terms(required=2, self_approval=False)),
        (Ask("t", required=2, self_approval=True), Terms(required=2)),
        (Ask("t", self_approval=False), Terms(self_approval=False)),
    ],
)
async def test_an_approver_says_how_many_have_to_decide_and_whether_whoever_asked_may(ask: Ask, terms: Terms) -> None:
    assert await gate_of(_approver("h", ask)).approve_tool(STEP, CALL) == (Wish("hook:h", "t", terms=terms),)


async def test_approvers_are_asked_about_the_very_call() -> None:
    asked = Asked()
    for name in ("a", "b"):
        mounts = [hook(it, asked.saying(it, Approve()), AT) for it in ("a", "b")[: 1 + (name == "b")]]
        assert await gate_of(*mounts).approve_tool(STEP, CALL) == ()
    assert [question for _, question in asked.questions] == [Question(AT, STEP, CALL)] * 3


async def test_every_approver_that_asks_is_a_wish_in_their_order() -> None:
    asks = [_approver("b", Ask("t", "x", ("me",), 5.0)), _approver("a", Ask()), _approver("c", Approve())]
    found = await gate_of(*asks).approve_tool(STEP, CALL)
    assert found == (Wish("hook:a"), Wish("hook:b", "t", "x", ("me",), 5.0))


async def test_approvers_are_asked_at_the_same_time() -> None:
    arrived = [trio.Event() for _ in range(3)]

    def meeting(mine: int) -> Mount:
        async def judge(_question: Question) -> Answer:
            arrived[mine].set()
            for event in arrived:
                await event.wait()
            return Approve()

        return hook(f"h{mine}", judge, AT)

    with trio.fail_after(20):
        assert await gate_of(*(meeting(i) for i in range(3))).approve_tool(STEP, CALL) == ()


async def test_the_first_refusal_cancels_the_others() -> None:
    cancelled: list[str] = []

    async def slow(_question: Question) -> Answer:
        try:
            await trio.sleep_forever()
        finally:
            cancelled.append("slow")
        raise AssertionError

    with trio.fail_after(20):
        found = await gate_of(hook("slow", slow, AT), _approver("no", Refuse("no"))).approve_tool(STEP, CALL)
    assert _refused(found) == "Tool execution denied by approval hook: no"
    assert cancelled == ["slow"]


WRONG: list[Answer] = [CONTINUE, Failed("nonsense"), Modify({}), Respond(ToolResult("x")), Deny("x")]


@pytest.mark.parametrize("answer", WRONG)
@pytest.mark.parametrize("others", [0, 1])
async def test_an_answer_that_is_no_approval_refuses(answer: Answer, others: int) -> None:
    mounts = [_approver("odd", answer), *(_approver(f"yes{i}", Approve()) for i in range(others))]
    assert "hook odd failed at approve_tool" in _refused(await gate_of(*mounts).approve_tool(STEP, CALL))


async def test_an_approver_without_an_opinion_function_refuses() -> None:
    mount = Mount(InsideHook("empty"), Rules(stages=frozenset({AT})))
    assert "empty failed at approve_tool" in _refused(await gate_of(mount).approve_tool(STEP, CALL))


async def test_a_late_approver_refuses_and_says_so() -> None:
    rules = Rules(timeout_s={AT: 0.02}, on_failure={AT: "continue"})
    found = await gate_of(hook("late", never, AT, rules=rules), _approver("yes", Approve())).approve_tool(STEP, CALL)
    assert _refused(found) == (
        "Tool execution denied by approval hook: hook late failed at approve_tool: no answer within 20 ms"
    )


async def test_cancelling_the_caller_cancels_every_approver() -> None:
    ended: list[str] = []

    async def slow(_question: Question) -> Answer:
        try:
            await trio.sleep_forever()
        finally:
            ended.append("x")
        raise AssertionError

    gate = gate_of(hook("a", slow, AT), hook("b", slow, AT))
    with trio.move_on_after(0.02) as scope:
        await gate.approve_tool(STEP, CALL)
    assert (scope.cancelled_caught, len(ended)) == (True, 2)
