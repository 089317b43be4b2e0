"""One turn from a message to its answer: the order of everything, and what hooks change on the way."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from hookgate.loop.calls.reply_calls import with_ids
from hookgate.protocol.chat.channel import ChannelPolicy
from hookgate.protocol.events.payloads import (
    HookFailed,
    HookModified,
    ToolExecEnd,
    ToolExecSkipped,
    ToolInjected,
    TurnEnd,
)
from hookgate.protocol.hook.answers import CONTINUE, Answer, Deny, Modify, Respond
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, LLMRequest, Message, ProposedCall, ToolCall, ToolResult, ToolSpec
from hookgate.providers.scripted import ScriptedCall
from tests.loop.recording import OBJECT, Bench, FunctionTool, asks_for, hook, logging_hook, says

MakeBench = Callable[..., Bench]


async def test_one_tool_turn_passes_all_stages_and_events_in_this_order(bench: MakeBench) -> None:
    log: list[str] = []

    async def note(call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        log.append("execute")
        return "nine"

    logs = logging_hook(log, Stage)
    made = bench(asks_for("count"), says("It is nine."), tools=[FunctionTool("count", note)], hooks=[logs])
    made.log = made.room._log = made.provider._log = log
    assert await made.play("how many?") == ["It is nine."]
    assert log == [
        *("turn_start", "on_message", "before_llm", "llm_request", "model", "llm_response", "after_llm"),
        *(
            "before_tool count",
            "approve_tool count",
            "tool_exec_start",
            "execute",
            "after_tool count",
            "tool_exec_end",
        ),
        *("before_llm", "llm_request", "model", "llm_response", "after_llm"),
        *("before_send", "send answer", "turn_end"),
    ]
    assert [message.role for message in made.messages()] == ["user", "assistant", "tool", "assistant"]
    assert replace(made.payloads(TurnEnd)[0], Duration=0) == TurnEnd("completed", 2, 0, len("It is nine."))


async def test_hooks_see_who_speaks_where_and_which_model_call_it_is(bench: MakeBench) -> None:
    seen: list[tuple[str, str, str, int]] = []

    async def look(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        step = question.step
        seen.append((step.chat.channel, step.chat.chat_id, step.chat.sender, step.iteration))
        return CONTINUE

    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], hooks=[hook("h", {Stage.BEFORE_LLM: look})])
    await made.play()
    assert seen == [("test", "1", "ann", 0), ("test", "1", "ann", 1)]


# --- before_llm and after_llm -------------------------------------------------------------------------------


async def test_what_before_llm_adds_to_the_messages_lives_for_that_call_only(bench: MakeBench) -> None:
    async def hint(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        first = question.step.iteration == 0
        return Modify({"messages": (*question.subject.messages, Message("user", "be brief"))}) if first else CONTINUE

    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], hooks=[hook("h", {Stage.BEFORE_LLM: hint})])
    await made.play("go")
    first, second = ([message.content for message in it.messages] for it in made.provider.requests)
    assert first == ["go", "be brief"]
    assert "be brief" not in second
    assert "be brief" not in [message.content for message in made.messages()]


async def test_before_llm_chooses_the_model_and_after_llm_has_the_last_word(bench: MakeBench) -> None:
    changes = {Stage.BEFORE_LLM: Modify({"model": "m-2"}), Stage.AFTER_LLM: Modify({"content": "edited"})}
    made = bench(says("original"), hooks=[hook("h", changes)])
    assert await made.play() == ["edited"]
    assert made.provider.requests[0].model == "m-2"
    assert made.messages()[-1].content == "edited"
    assert [(it.stage, it.members) for it in made.payloads(HookModified)] == [
        ("before_llm", ("model",)),
        ("after_llm", ("content",)),
    ]


async def test_an_echoed_request_is_no_change(bench: MakeBench) -> None:
    async def echo(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        request = question.subject
        assert isinstance(request, LLMRequest)
        return Modify({"model": request.model, "messages": request.messages, "tools": request.tools})

    made = bench(says("x"), tools=[FunctionTool("t")], hooks=[hook("h", {Stage.BEFORE_LLM: echo})])
    await made.play()
    assert made.payloads(HookModified) == []
    assert [spec.provider for spec in made.provider.requests[0].tools] == ["builtin"]


async def test_after_llm_may_drop_a_tool_call(bench: MakeBench) -> None:
    tool = FunctionTool("t")
    changes = Modify({"tool_calls": (), "content": "no tools today"})
    made = bench(asks_for("t"), tools=[tool], hooks=[hook("h", {Stage.AFTER_LLM: changes})])
    assert await made.play() == ["no tools today"]
    assert tool.seen == []


async def test_text_is_held_back_while_a_hook_may_still_change_it(bench: MakeBench) -> None:
    made = bench(says("the secret word"), hooks=[hook("h", {Stage.AFTER_LLM: Modify({"content": "no word"})})])
    await made.play()
    assert made.room.streamed == "no word"


async def test_text_streams_at_once_where_no_hook_may_change_it(bench: MakeBench) -> None:
    watcher = hook("h", {Stage.AFTER_LLM: CONTINUE}, may_modify=frozenset({"tool_calls"}))
    made = bench(asks_for("t", text="Looking."), says("Done."), tools=[FunctionTool("t")], hooks=[watcher])
    await made.play()
    assert made.room.streamed == "Looking.|Done."


# --- injected tools -----------------------------------------------------------------------------------------

INJECTED = ToolSpec("weather", "The weather.", OBJECT, provider="")
OFFER = Modify({"tools": (INJECTED,)})


async def test_a_tool_that_before_llm_adds_is_answered_by_its_owner_after_all_others_had_their_say(
    bench: MakeBench,
) -> None:
    log: list[str] = []

    async def answer(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        log.append("owner")
        return Respond(ToolResult("sunny"))

    owner = hook("weather", {Stage.BEFORE_LLM: OFFER, Stage.BEFORE_TOOL: answer}, priority=-5)
    made = bench(asks_for("weather"), says("It is sunny."), hooks=[owner, logging_hook(log)])
    assert await made.play() == ["It is sunny."]
    assert made.results() == ["sunny"]
    told = ["before_llm", "after_llm", "before_tool weather", "approve_tool weather", "owner"]
    assert log == [*told, "before_llm", "after_llm"]
    assert made.payloads(ToolInjected)[0] == ToolInjected("weather", "weather")
    assert made.agent.tally.answered == 1


async def test_an_owner_that_does_not_respond_gives_the_model_an_error_that_names_it(bench: MakeBench) -> None:
    owner = hook("weather", {Stage.BEFORE_LLM: OFFER, Stage.BEFORE_TOOL: CONTINUE})
    made = bench(asks_for("weather"), says("Sorry."), hooks=[owner])
    await made.play()
    assert made.results() == ["ERROR (fatal) weather: hook weather did not respond to the call of its own tool"]
    assert made.payloads(ToolExecEnd)[0].IsError


async def test_another_hook_may_deny_an_injected_tool(bench: MakeBench) -> None:
    owner = hook("weather", {Stage.BEFORE_LLM: OFFER, Stage.BEFORE_TOOL: Respond(ToolResult("sunny"))})
    guard = hook("guard", {Stage.BEFORE_TOOL: Deny("no weather")}, priority=99)
    made = bench(asks_for("weather"), says("Sorry."), hooks=[owner, guard])
    await made.play()
    assert made.results() == ["Tool execution denied by hook: no weather"]


# --- tool stages --------------------------------------------------------------------------------------------


async def test_before_tool_rewrites_the_call_and_after_tool_its_result(bench: MakeBench) -> None:
    async def echo(call: ToolCall) -> str:
        await trio.lowlevel.checkpoint()
        return str(call.arguments["text"])

    async def prefix(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, Finished)
        return Modify({"for_llm": f"after:{question.subject.result.for_llm}"})

    judges = {Stage.BEFORE_TOOL: Modify({"arguments": {"text": "modified"}}), Stage.AFTER_TOOL: prefix}
    call = ScriptedCall("echo", {"text": "original"})
    made = bench(asks_for(call), says("x"), tools=[FunctionTool("echo", echo)], hooks=[hook("h", judges)])
    await made.play()
    assert made.results() == ["after:modified"]
    # What the model wrote stays what the model wrote.
    assert made.messages()[1].tool_calls[0].arguments == '{"text":"original"}'


async def test_a_renamed_call_runs_the_new_tool_and_is_looked_up_again(bench: MakeBench) -> None:
    old, new = FunctionTool("old"), FunctionTool("new")
    rename = hook("h", {Stage.BEFORE_TOOL: Modify({"name": "new"})})
    made = bench(asks_for("old"), says("x"), tools=[old, new], hooks=[rename])
    await made.play()
    assert (len(old.seen), len(new.seen)) == (0, 1)
    assert made.payloads(ToolExecEnd)[0].Tool == "new"


async def test_a_rename_cannot_reach_a_tool_that_the_model_was_not_offered(bench: MakeBench) -> None:
    hidden = FunctionTool("hidden")

    async def hide(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, LLMRequest)
        return Modify({"tools": tuple(spec for spec in question.subject.tools if spec.name != "hidden")})

    judges = {Stage.BEFORE_LLM: hide, Stage.BEFORE_TOOL: Modify({"name": "hidden"})}
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t"), hidden], hooks=[hook("h", judges)])
    await made.play()
    assert hidden.seen == []
    assert made.results()[0].startswith("ERROR (not_found) hidden:")
    assert made.agent.tally.denied == 1


async def test_a_denied_call_never_runs_and_nobody_is_asked_to_approve_it(bench: MakeBench) -> None:
    tool, log = FunctionTool("t"), list[str]()
    guard = hook("guard", {Stage.BEFORE_TOOL: Deny("not here")}, priority=1)
    shows = ChannelPolicy(show_denials=True)
    made = bench(asks_for("t"), says("x"), tools=[tool], hooks=[guard, logging_hook(log)], policy=shows)
    assert await made.play() == ["t: Tool execution denied by hook: not here", "x"]
    assert tool.seen == []
    assert "approve_tool t" not in log
    assert made.results() == ["Tool execution denied by hook: not here"]
    skipped = made.payloads(ToolExecSkipped)[0]
    assert (skipped.Tool, skipped.Reason) == ("t", "Tool execution denied by hook: not here")
    assert (made.agent.tally.calls, made.agent.tally.denied) == (1, 1)


async def test_a_hook_that_responds_saves_the_execution_and_after_tool(bench: MakeBench) -> None:
    tool, log = FunctionTool("t"), list[str]()
    cache = hook("cache", {Stage.BEFORE_TOOL: Respond(ToolResult("cached"))}, priority=99)
    made = bench(asks_for("t"), says("x"), tools=[tool], hooks=[cache, logging_hook(log)])
    await made.play()
    assert tool.seen == []
    assert "after_tool t" not in log
    assert made.results() == ["cached"]
    assert made.payloads(ToolExecEnd)[0].ForLLMLen == len("cached")
    assert made.payloads(HookModified)[0] == HookModified("cache", "before_tool", ("result",), "t")
    assert (made.agent.tally.answered, made.agent.tally.allowed) == (1, 0)


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        ("continue", "t ran"),
        ("deny", "Tool execution denied by hook: hook bad failed at before_tool: RuntimeError: x"),
    ],
)
async def test_a_failing_hook_counts_as_its_policy_says(bench: MakeBench, policy: str, told: str) -> None:
    async def crash(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("x")

    bad = hook("bad", {Stage.BEFORE_TOOL: crash}, on_failure={Stage.BEFORE_TOOL: policy})
    made = bench(asks_for("t"), says("x"), tools=[FunctionTool("t")], hooks=[bad])
    await made.play()
    assert made.results() == [told]
    assert made.payloads(HookFailed)[0] == HookFailed(
        *("bad", "before_tool", "RuntimeError: x", policy), "the call of t" if policy == "continue" else None
    )


async def test_the_step_limit_ends_a_turn_with_a_line_that_names_it(bench: MakeBench) -> None:
    made = bench(*[asks_for("t")] * 9, tools=[FunctionTool("t")], max_steps=3)
    [line] = await made.play()
    assert "3 model calls" in line
    assert "agent.max_steps" in line
    assert made.room.sent[0].kind == "error"
    assert len(made.provider.requests) == 3
    assert made.payloads(TurnEnd)[0].Status == "step_limit"


@pytest.mark.parametrize(
    ("given", "made"),
    [
        (["a", "b"], ["a", "b"]),
        (["", ""], ["call_2_0", "call_2_1"]),
        (["a", "a"], ["a", "call_2_0"]),
        (["call_2_0", ""], ["call_2_0", "call_2_1"]),
        (["", "call_2_0"], ["call_2_1", "call_2_0"]),
    ],
)
def test_every_call_gets_an_id_of_its_own(given: list[str], made: list[str]) -> None:
    named = with_ids([ProposedCall(call_id, "t", "{}") for call_id in given], 2)
    assert [call.id for call in named] == made
