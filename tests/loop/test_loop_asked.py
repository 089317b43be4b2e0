"""Calls that a model writes into its text: the same path as any other call, and nothing of them on the screen."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from hookgate.loop.asked import asked
from hookgate.protocol.answers import CONTINUE, Answer, Deny
from hookgate.protocol.stages import Question, Stage
from hookgate.protocol.values import LLMReply, LLMRequest, ProposedCall, ToolCall, ToolSpec
from tests.loop.recording import Bench, FunctionTool, hook, says

MakeBench = Callable[..., Bench]
CALL = 'I will count. <tool_call>{"name": "count", "arguments": {"what": "files"}}</tool_call>'
BROKEN = '<tool_call>{"name": "count", "arguments": '


async def nine(_call: ToolCall) -> str:
    await trio.lowlevel.checkpoint()
    return "nine"


async def test_a_call_in_tags_is_run_and_is_not_shown(bench: MakeBench) -> None:
    made = bench(says(CALL), says("It is nine."), tools=[FunctionTool("count", nine)])
    assert await made.play("how many?") == ["It is nine."]
    assert made.results() == ["nine"]
    assert "tool_call" not in made.room.streamed
    assert "I will count." in made.room.streamed
    recorded = made.messages()[1]
    assert recorded.content == "I will count."
    assert recorded.tool_calls[0].arguments == '{"what":"files"}'


async def test_hooks_see_that_it_was_text_and_can_refuse_it(bench: MakeBench) -> None:
    async def only_native(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, ToolCall)
        return Deny("calls in text are not run here") if question.subject.origin == "text" else CONTINUE

    guard = hook("guard", {Stage.BEFORE_TOOL: only_native})
    made = bench(says(CALL), says("Not allowed."), tools=[FunctionTool("count", nine)], hooks=[guard])
    assert await made.play("how many?") == ["Not allowed."]
    assert made.results() == ["Tool execution denied by hook: calls in text are not run here"]
    assert b'"origin":"text"' in made_params()


def made_params() -> bytes:
    from hookgate.protocol.values import Chat, Inbound, Step

    step = Step("main", "main-turn-1", Inbound(Chat("room", "1"), ""))
    return Question(Stage.BEFORE_TOOL, step, ToolCall("c", "count", {}, "text")).params


async def test_a_call_that_cannot_be_read_is_corrected_once(bench: MakeBench) -> None:
    made = bench(says(BROKEN), says(CALL), says("It is nine."), tools=[FunctionTool("count", nine)])
    assert await made.play("how many?") == ["It is nine."]
    assert made.messages()[2].role == "user"
    assert "cannot be read" in made.messages()[2].content
    assert "tool_call" not in made.room.streamed


async def test_a_model_that_does_not_learn_ends_the_turn_with_one_line(bench: MakeBench) -> None:
    made = bench(says(BROKEN), says(BROKEN), tools=[FunctionTool("count", nine)])
    (line,) = await made.play("how many?")
    assert line.startswith("The model call failed (format): it keeps writing a tool call that cannot be read")
    assert BROKEN not in line


@pytest.mark.parametrize(
    ("mode", "text", "found"),
    [
        ("off", CALL, 0),
        ("tags", CALL, 1),
        ("tags", '{"name": "count", "arguments": {}}', 0),
        ("all", '{"name": "count", "arguments": {}}', 1),
        ("tags", 'Write `<tool_call>{"name": "count"}</tool_call>` for that.', 0),
        ("tags", '<tool_call>{"name": "other", "arguments": {}}</tool_call>', 0),
    ],
)
def test_what_counts_as_a_call_is_configured(mode: str, text: str, found: int) -> None:
    request = LLMRequest("p/m", (), (ToolSpec("count", "", {}),))
    said = asked(LLMReply("p/m", text), request, mode, 0)  # type: ignore[arg-type]
    assert len(said.calls) == found


def test_structured_calls_win_and_leave_the_text_alone() -> None:
    request = LLMRequest("p/m", (), (ToolSpec("count", "", {}),))
    said = asked(LLMReply("p/m", CALL, (ProposedCall("c1", "count", "{}"),)), request, "tags", 0)
    assert (said.text, len(said.calls)) == (CALL, 1)
