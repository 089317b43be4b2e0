"""A model that tries the same over and over: when it is advised, when it is refused, and what does not count."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from hookgate.guards.loop import LoopGuard, LoopLimits
from hookgate.guards.remembered import MAX_KEPT
from hookgate.protocol.events.payloads import ToolExecEnd
from hookgate.protocol.hook.answers import CONTINUE, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import FaultKind, LLMRequest, Message, ProposedCall, ToolCall, ToolResult
from tests.guards.asking import STEP, Told, Turn, call, failure, spec_of


def make(limits: LoopLimits | None = None) -> Turn:
    return Turn(LoopGuard(limits or LoopLimits(), spec_of))


def guard(turn: Turn) -> LoopGuard:
    assert isinstance(turn.guard, LoopGuard)
    return turn.guard


async def fail(turn: Turn, times: int, *kinds: FaultKind) -> list[Told]:
    given = kinds or ("unknown",)
    return [await turn.failed(call("bash", command="x"), given[n % len(given)]) for n in range(times)]


async def asked(turn: Turn, *made: ToolCall) -> Sequence[str]:
    """What the model reads of these calls when it is asked the next time."""
    proposed = tuple(ProposedCall(it.id, it.name, "{}" if not it.arguments else "{broken") for it in made)
    results = tuple(Message("tool", "refused", tool_call_id=it.id) for it in made)
    request = LLMRequest("p/m", (Message("user", "go"), Message("assistant", "", proposed), *results))
    answer = await guard(turn).before_llm(Question(Stage.BEFORE_LLM, turn.step, request))
    after: Sequence[Message] = answer.changes["messages"] if isinstance(answer, Modify) else request.messages
    return [message.content for message in after if message.role == "tool"]


# --- the same call ------------------------------------------------------------------------------------------


async def test_the_third_failure_of_a_call_has_advice_and_the_fourth_attempt_is_refused() -> None:
    told = await fail(make(), 6)
    assert [it.refused for it in told] == [None, None, None, "fatal", "fatal", "fatal"]
    assert [bool(it.advice) for it in told[:3]] == [False, False, True]
    assert told[2].text.startswith("it failed\n\nAdvice: this same call has failed 3 times.")


async def test_a_success_between_does_not_reset_the_count() -> None:
    turn = make()
    await fail(turn, 2)
    await turn.ran(call("bash", command="x"))
    await turn.ran(call("read", path="a"))
    assert (await fail(turn, 1))[0].advice
    assert (await fail(turn, 1))[0].refused == "fatal"


async def test_a_command_may_be_run_again_after_each_edit_that_succeeds() -> None:
    turn = make()
    for _ in range(6):
        assert [it.refused for it in await fail(turn, 2)] == [None, None]
        await turn.ran(call("edit", path="a"))
    await fail(turn, 3)
    await turn.failed(call("edit", path="a"), "stale")
    assert (await fail(turn, 1))[0].refused == "fatal"


async def test_the_order_of_arguments_makes_no_other_call() -> None:
    turn = make()
    for _ in range(2):
        await turn.failed(call("t", a=1, b=2))
    assert (await turn.failed(call("t", b=2, a=1))).advice


@pytest.mark.parametrize(
    ("kinds", "words"),
    [
        (("validation",), "Fix the format"),
        (("stale",), "Read the target again"),
        (("transient",), "The fault lies outside"),
        (("unknown",), "Try a smaller step, or another tool."),
        (("validation", "stale"), "Try a smaller step, or another tool."),
    ],
)
async def test_the_advice_is_about_what_all_failures_have_in_common(kinds: tuple[FaultKind, ...], words: str) -> None:
    told = await fail(make(), 4, *kinds)
    assert words in told[2].advice
    assert words in told[3].text


async def test_another_turn_begins_without_a_past() -> None:
    turn = make()
    await fail(turn, 3)
    assert (await fail(turn.another("turn-2"), 1))[0] == Told(text="it failed")


async def test_ids_that_an_endpoint_counts_anew_in_every_reply_are_not_mixed_up() -> None:
    turn = make()
    for iteration in range(3):
        later = Turn(turn.guard, replace(STEP, iteration=iteration))
        told = await later.failed(ToolCall("call_0", "bash", {"command": "x"}))
    assert told.advice


# --- the same tool ------------------------------------------------------------------------------------------


async def test_a_tool_that_fails_with_various_arguments_has_advice_once_and_is_refused_from_the_eighth_on() -> None:
    turn = make()
    told = [await turn.failed(call("bash", command=str(number))) for number in range(10)]
    assert [bool(it.advice) for it in told[:7]] == [False, False, False, True, False, False, False]
    assert [it.refused for it in told] == [None] * 7 + ["budget"] * 3
    assert (await turn.ran(call("read", path="a"))).refused is None


async def test_refusals_of_its_own_are_no_failures_of_the_tool() -> None:
    turn = make()
    await fail(turn, 10)
    assert (await turn.failed(call("bash", command="another"))).refused is None


async def test_after_five_pieces_of_advice_a_call_that_earns_a_sixth_is_refused() -> None:
    turn = make()
    for name in "abcde":
        told = [await turn.failed(call(name, n=1)) for _ in range(3)]
        assert told[2].advice
    told = [await turn.failed(call("f", n=1)) for _ in range(3)]
    assert [it.refused for it in told] == [None, None, "budget"]
    assert "5 pieces of advice" in told[2].text
    assert (await turn.ran(call("g", n=1))).refused is None


# --- successes ----------------------------------------------------------------------------------------------


async def test_the_fifth_success_of_one_read_only_call_has_advice() -> None:
    turn = make()
    told = [await turn.ran(call("ls", path=".")) for _ in range(6)]
    assert [bool(it.advice) for it in told] == [False] * 4 + [True, False]


async def test_a_call_that_changes_something_may_succeed_as_often_as_it_likes() -> None:
    turn = make()
    told = [await turn.ran(call(name, x=1)) for name in ("bash", "strange") for _ in range(12)]
    assert not any(it.advice for it in told)


async def test_advice_leaves_the_data_of_a_structured_result_alone() -> None:
    turn = make()
    for _ in range(4):
        await turn.ran(call("ls"))
    told = await turn.ran(call("ls"), ToolResult('{"entries": []}', data={"entries": []}))
    assert told.text.startswith('{"entries": []}\n\nAdvice: ')


# --- calls that no stage saw --------------------------------------------------------------------------------


async def test_invalid_calls_count_and_their_advice_is_under_the_result() -> None:
    turn = make()
    texts: list[Sequence[str]] = []
    for _ in range(4):
        made = call("edit", x=1)
        guard(turn).hear(turn.early(made))
        texts.append(await asked(turn, made))
    assert texts[:2] == [["refused"], ["refused"]]
    assert "has failed 3 times. Fix the format" in texts[2][0]
    assert "has failed 4 times" in texts[3][0]


async def test_the_advice_stays_under_its_result_for_the_rest_of_the_turn() -> None:
    turn = make()
    calls = [call("edit", x=1) for _ in range(3)]
    for made in calls:
        guard(turn).hear(turn.early(made))
    first = await asked(turn, *calls)
    assert await asked(turn, *calls) == first
    assert ["Advice" in text for text in first] == [False, False, True]


async def test_a_tool_whose_calls_never_fit_is_refused_once_one_does() -> None:
    turn = make()
    for number in range(7):
        made = call("edit", x=number)
        guard(turn).hear(turn.early(made))
        await asked(turn, made)
    assert (await turn.ran(call("edit", path="a"))).refused == "budget"


async def test_denials_by_other_hooks_count() -> None:
    turn = make()
    for _ in range(3):
        made = call("bash", command="x")
        question = Question(Stage.BEFORE_TOOL, turn.step, made)
        assert await guard(turn).before_tool(question) is CONTINUE
        guard(turn).hear(turn.early(made, "permission"))
    assert "failed 3 times" in (await asked(turn, made))[0]
    assert (await turn.ran(call("bash", command="x"))).refused == "fatal"


async def test_a_result_that_a_hook_gave_counts_once() -> None:
    turn = make()
    for _ in range(3):
        made = call("t")
        await guard(turn).before_tool(Question(Stage.BEFORE_TOOL, turn.step, made))
        guard(turn).hear(turn.event(ToolExecEnd("t", 1, 1, 0, True, False, made.id, "unknown")))
    assert (await turn.ran(call("t"))).refused == "fatal"


async def test_a_failure_that_after_tool_saw_is_not_counted_again_by_its_event() -> None:
    turn = make()
    for _ in range(2):
        made = call("t")
        assert not (await turn.failed(made)).advice
        guard(turn).hear(turn.event(ToolExecEnd("t", 1, 1, 0, True, False, made.id, "unknown")))
    assert (await turn.failed(call("t"))).advice


async def test_a_call_that_was_dropped_is_nobodys_failure() -> None:
    turn = make()
    for _ in range(5):
        made = call("t")
        await guard(turn).before_tool(Question(Stage.BEFORE_TOOL, turn.step, made))
        guard(turn).hear(turn.early(made, None))
    assert (await turn.ran(call("t"))).refused is None


# --- what is remembered -------------------------------------------------------------------------------------


async def test_a_turn_that_ended_is_forgotten_and_no_more_than_a_thousand_are_kept() -> None:
    turn = make()
    await fail(turn, 3)
    guard(turn).hear(turn.end)
    assert (await fail(turn, 1))[0].advice == ""
    for number in range(MAX_KEPT + 10):
        await turn.another(f"t{number}").ran(call("t"))
    assert len(guard(turn)._turns) == MAX_KEPT


async def test_the_limits_are_the_operators() -> None:
    told = await fail(make(LoopLimits(same_advice=1, same_refuse=2)), 2)
    assert told[0].advice
    assert told[1].refused == "fatal"


async def test_a_failure_without_a_kind_is_a_failure() -> None:
    turn = make()
    told = [await turn.ran(call("t"), replace(failure("unknown"), error=None)) for _ in range(3)]
    assert told[2].advice
