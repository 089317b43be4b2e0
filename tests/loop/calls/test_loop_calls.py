"""The tool calls of one reply: what cannot run, what runs together, and what reaches the chat besides the model."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from hookgate.loop.calls.finish import DELIVERED
from hookgate.protocol.events.payloads import ToolExecEnd, ToolExecSkipped, TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Answer, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import LLMRequest, ToolCall, ToolResult
from hookgate.providers.scripted import ScriptedCall
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, logging_hook, says

MakeBench = Callable[..., Bench]

STRICT = {
    "type": "object",
    "properties": {"n": {"type": "integer"}},
    "required": ["n"],
    "additionalProperties": False,
}


# --- calls that cannot run ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("call", "told"),
    [
        (ScriptedCall("count", '{"n": 1 2}'), "ERROR (validation) count: "),
        (ScriptedCall("count", "[1]"), "ERROR (validation) count: the arguments must be a JSON object, not an array"),
        (ScriptedCall("count", '{"n": "many"}'), "ERROR (validation) count: invalid args:"),
        (ScriptedCall("count", "{}"), "ERROR (validation) count: n is required"),
        (ScriptedCall("cuont", '{"n": 1}'), "ERROR (not_found) cuont: there is no tool named 'cuont'"),
    ],
)
async def test_a_call_that_cannot_run_reaches_no_hook_and_tells_the_model_why(
    bench: MakeBench, call: ScriptedCall, told: str
) -> None:
    log: list[str] = []
    tool = FunctionTool("count", parameters=STRICT)
    made = bench(asks_for(call), says("Sorry."), tools=[tool], hooks=[logging_hook(log)])
    assert await made.play() == ["Sorry."]
    assert made.results()[0].startswith(told)
    assert tool.seen == []
    assert log == ["before_llm", "after_llm"] * 2
    assert made.agent.tally.calls == 0
    assert [it.Tool for it in made.payloads(ToolExecSkipped)] == [call.name]


async def test_null_arguments_are_an_empty_object(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    await bench(asks_for(ScriptedCall("t", "null")), says("x"), tools=[tool]).play()
    assert tool.seen[0].arguments == {}


async def test_what_a_hook_makes_of_a_call_must_still_fit_the_tool(bench: MakeBench) -> None:
    tool = FunctionTool("count", parameters=STRICT)
    spoil = hook("h", {Stage.BEFORE_TOOL: Modify({"arguments": {"n": "many"}})})
    made = bench(asks_for(ScriptedCall("count", {"n": 1})), says("x"), tools=[tool], hooks=[spoil])
    await made.play()
    assert tool.seen == []
    assert made.results()[0].startswith("ERROR (validation) count:")
    assert made.agent.tally.denied == 1


async def test_a_tool_that_raises_or_says_nothing_still_gives_a_result(bench: MakeBench) -> None:
    async def crash(_call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("out of paper")

    async def nothing(_call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        return ""

    tools = [FunctionTool("crash", crash), FunctionTool("mute", nothing)]
    made = bench(asks_for("crash", "mute"), says("x"), tools=tools)
    await made.play()
    crashed, mute = made.results()
    assert crashed.startswith("ERROR (fatal) crash: RuntimeError: out of paper")
    assert mute == "(no output)"
    assert [it.IsError for it in made.payloads(ToolExecEnd)] == [True, False]


# --- many calls ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("reads_only", [True, False])
async def test_two_hundred_calls_in_one_reply_all_run_and_keep_their_order(
    bench: MakeBench, reads_only: bool
) -> None:
    async def number(call: ToolCall) -> str:
        for _ in range(200 - int(str(call.arguments["n"]))):
            await trio.lowlevel.checkpoint()
        return str(call.arguments["n"])

    wanted = [ScriptedCall("t", {"n": n}) for n in range(200)]
    made = bench(asks_for(*wanted), says("x"), tools=[FunctionTool("t", number, reads_only)])
    await made.play()
    assert made.results() == [str(n) for n in range(200)]
    assert made.agent.tally.executed == 200


async def test_read_only_calls_next_to_each_other_overlap_and_keep_their_order(bench: MakeBench) -> None:
    """The first waits for the second, so it ends only if both run at once."""
    second_runs, log = trio.Event(), list[str]()

    async def wait(_call: ToolCall) -> str:
        await second_runs.wait()
        return "first"

    async def release(_call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        second_runs.set()
        return "second"

    tools = [FunctionTool("a", wait, reads_only=True), FunctionTool("b", release, reads_only=True)]
    made = bench(asks_for("a", "b"), says("x"), tools=tools, hooks=[logging_hook(log)])
    await made.play()
    assert made.results() == ["first", "second"]
    # Only the execution overlaps: hooks are asked in the reply's order.
    asked = [entry for entry in log if "tool" in entry]
    judged = ["before_tool a", "approve_tool a", "before_tool b", "approve_tool b"]
    assert asked == [*judged, "after_tool a", "after_tool b"]


async def test_a_call_that_changes_state_never_overlaps_another(bench: MakeBench) -> None:
    running, most = 0, 0

    async def count(_call: ToolCall) -> str:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await trio.lowlevel.checkpoint()
        running -= 1
        return "x"

    tools = [FunctionTool("read", count, reads_only=True), FunctionTool("write", count)]
    made = bench(asks_for("write", "read", "write", "write"), says("x"), tools=tools)
    await made.play()
    assert most == 1


# --- what the chat sees besides -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("result", "shown"),
    [
        (ToolResult("a", for_user="for you"), ["for you", "x"]),
        (ToolResult("a", for_user="for you", silent=True), ["x"]),
        (ToolResult("a"), ["x"]),
    ],
)
async def test_for_user_is_shown_unless_silent(bench: MakeBench, result: ToolResult, shown: list[str]) -> None:
    async def run(_call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return result

    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t", run)])
    assert await made.play() == shown
    assert made.results() == ["a"]


HANDLED = ToolResult("here it is", media=("data:image/png;base64,AA==",), response_handled=True)


async def test_handled_media_is_delivered_once_and_the_model_is_not_asked_again(bench: MakeBench) -> None:
    cache = hook("h", {Stage.BEFORE_TOOL: Respond(HANDLED)})
    made = bench(asks_for("t"), says("never"), tools=[FunctionTool("t")], hooks=[cache])
    await made.play()
    assert [(it.kind, it.media) for it in made.room.sent] == [("output", HANDLED.media)]
    assert len(made.provider.requests) == 1
    assert made.results() == [f"here it is\n{DELIVERED}"]
    assert made.payloads(TurnEnd)[0].Status == "completed"


async def test_media_that_cannot_be_delivered_is_an_error_and_not_handled(bench: MakeBench) -> None:
    cache = hook("h", {Stage.BEFORE_TOOL: Respond(HANDLED)})
    made = bench(asks_for("t"), says("It did not go through."), tools=[FunctionTool("t")], hooks=[cache])
    made.room.broken.add("output")
    assert await made.play() == ["It did not go through."]
    assert made.results() == ["failed to deliver attachment: the chat is gone"]
    assert made.payloads(ToolExecEnd)[0].IsError


async def test_one_unhandled_result_of_a_batch_asks_the_model_again(bench: MakeBench) -> None:
    async def handle_first(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Respond(HANDLED) if question.tool == "a" else CONTINUE

    tools = [FunctionTool("a"), FunctionTool("b")]
    made = bench(asks_for("a", "b"), says("x"), tools=tools, hooks=[hook("h", {Stage.BEFORE_TOOL: handle_first})])
    await made.play()
    assert len(made.provider.requests) == 2


async def test_media_that_is_not_handled_reaches_the_model(bench: MakeBench) -> None:
    async def run(_call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("a picture", media=("data:image/png;base64,AA==",))

    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t", run)])
    assert await made.play() == ["x"]
    assert made.provider.requests[1].messages[-1].media == ("data:image/png;base64,AA==",)


async def test_tools_are_frozen_for_a_model_call_and_fresh_for_the_next(bench: MakeBench) -> None:
    late = FunctionTool("late")

    async def register(_call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        made.agent.registry.register(late)
        return "done"

    made = bench(asks_for("t", "late"), asks_for("late"), says("x"), tools=[FunctionTool("t", register)])
    await made.play()
    assert made.results()[1].startswith("ERROR (not_found) late:")
    assert made.results()[2] == "late ran"


async def test_a_tool_that_a_hook_took_away_cannot_be_called(bench: MakeBench) -> None:
    async def strip(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": ()})

    tool = FunctionTool("t")
    made = bench(asks_for("t"), says("x"), tools=[tool], hooks=[hook("h", {Stage.BEFORE_LLM: strip})])
    await made.play()
    assert tool.seen == []
    assert made.results()[0].startswith("ERROR (not_found) t:")
