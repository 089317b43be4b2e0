"""Turns that a hook ends: what the user reads, what the transcript keeps, and whom it touches."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from hookgate.loop.sessions.transcript import NO_RESULT, NOT_RUN
from hookgate.protocol.events.payloads import TurnEnd
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall
from tests.loop.recording import CHAT, INTERCEPTORS, OTHER, Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]

KEPT = {
    Stage.BEFORE_LLM: ["user"],
    Stage.AFTER_LLM: ["user"],
    Stage.BEFORE_TOOL: ["user", "assistant", "tool", "tool"],
    Stage.AFTER_TOOL: ["user", "assistant", "tool", "tool"],
}


@pytest.mark.parametrize("stage", INTERCEPTORS)
async def test_abort_turn_ends_the_turn_with_one_line_and_the_next_message_is_answered(
    bench: MakeBench, stage: Stage
) -> None:
    async def abort_first_turn(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Abort("lunch break") if question.step.turn_id == "main-turn-1" else CONTINUE

    tools = [FunctionTool("a"), FunctionTool("b")]
    made = bench(
        asks_for("a", "b"), says("hello"), says("hello"), tools=tools, hooks=[hook("h", {stage: abort_first_turn})]
    )
    async with made.opened():
        await made.say("one")
        await made.idle()
        assert made.lines == [f"hook h aborted the turn at {stage}: lunch break"]
        assert made.room.sent[0].kind == "error"
        assert [message.role for message in made.messages()] == KEPT[stage]
        assert tools[1].seen == []
        assert made.payloads(TurnEnd)[0].Status == "aborted"
        await made.say("two")
        await made.idle()
    assert made.room.sent[-1].kind == "answer"


async def test_a_call_that_ran_before_the_abort_is_not_called_unrun(bench: MakeBench) -> None:
    """A model that is told the call did not run would run it again."""
    tools = [FunctionTool("a"), FunctionTool("b")]
    made = bench(asks_for("a", "b"), tools=tools, hooks=[hook("h", {Stage.AFTER_TOOL: Abort("x")})])
    await made.play()
    assert len(tools[0].seen) == 1
    assert made.results() == [NO_RESULT, NOT_RUN]
    assert "may have run" in NO_RESULT


async def test_an_abort_policy_ends_the_turn_when_its_hook_fails(bench: MakeBench) -> None:
    async def crash(_question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        raise RuntimeError("boom")

    bad = hook("bad", {Stage.BEFORE_LLM: crash}, on_failure={Stage.BEFORE_LLM: "deny"})
    made = bench(says("never"), hooks=[bad])
    [line] = await made.play()
    assert line == "hook bad failed at before_llm: RuntimeError: boom; the turn ends"
    assert made.provider.requests == []


@pytest.mark.parametrize("stage", INTERCEPTORS)
async def test_hard_abort_rolls_the_turn_back_and_drops_what_waits_and_nobody_else_notices(
    bench: MakeBench, stage: Stage
) -> None:
    async def abort_one_chat(question: Question) -> Answer:
        await queued.wait()
        return Abort("stolen phone", hard=True) if question.step.chat == CHAT else CONTINUE

    queued, tool = trio.Event(), FunctionTool("a")
    script = [asks_for("a"), asks_for("a"), says("hello"), says("hello")]
    made = bench(*script, tools=[tool], hooks=[hook("h", {stage: abort_one_chat})])
    async with made.opened():
        await made.say("one")
        await made.say("two")
        await made.say("mine", OTHER)
        queued.set()
        await made.idle()
        await made.idle(OTHER)
    of_chat = [outbound for outbound in made.room.sent if outbound.chat == CHAT]
    assert [(it.kind, it.text) for it in of_chat] == [
        ("error", f"hook h stopped this conversation at {stage}: stolen phone")
    ]
    assert made.messages() == ()
    assert made.gateway.sessions[CHAT.session_key].jobs.waiting == 0
    assert made.messages(OTHER)[0].content == "mine"
    assert made.room.sent[-1].kind == "answer"
    assert made.room.sent[-1].chat == OTHER


async def test_a_turn_that_was_aborted_hard_leaves_earlier_turns_alone(bench: MakeBench) -> None:
    async def abort_second_turn(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return CONTINUE if question.step.turn_id == "main-turn-1" else Abort("x", hard=True)

    made = bench(says("first"), says("second"), hooks=[hook("h", {Stage.AFTER_LLM: abort_second_turn})])
    await made.play("one", "two")
    assert [message.content for message in made.messages()] == ["one", "first"]


async def test_a_hard_abort_is_carried_out_although_the_chat_cannot_be_told(bench: MakeBench) -> None:
    made = bench(says("never"), hooks=[hook("h", {Stage.BEFORE_LLM: Abort("x", hard=True)})])
    made.room.broken.add("error")
    async with made.opened():
        for text in ("one", "two", "three"):
            await made.say(text)
        await made.idle()
        assert made.messages() == ()
        made.room.broken.clear()
        await made.say("four")
        await made.idle()
        # What could not be told is told once it can be.
        while len(made.lines) < 2:
            await trio.sleep(0.01)
    assert made.kinds.count("turn_start") == 2


async def test_a_chat_that_takes_no_answer_does_not_end_the_gateway(bench: MakeBench) -> None:
    made = bench(says("lost"), says("found"))
    async with made.opened():
        made.room.broken |= {"answer", "error"}
        await made.say("one")
        await made.idle()
        made.room.broken.clear()
        await made.say("two", OTHER)
        await made.idle(OTHER)
    assert made.lines == ["found"]


async def test_a_crash_inside_a_turn_is_one_line_without_its_details(bench: MakeBench) -> None:
    class Broken:
        async def complete(self, *_arguments: object) -> object:
            await trio.lowlevel.checkpoint()
            raise KeyError("secret detail")

    made = bench(providers={"p": Broken()})
    [line] = await made.play()
    assert line == "Something went wrong inside hookgate; the log has it under main-turn-1."
    assert made.kinds[-1] == "turn_end"


async def test_what_ran_in_parallel_before_an_abort_is_accounted_for(bench: MakeBench) -> None:
    """The first of two read-only calls is allowed and waits for the second, at which the turn ends."""

    async def abort_at_b(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Abort("x") if question.tool == "b" else CONTINUE

    async def never(_call: ToolCall) -> str:
        raise AssertionError("it must not run")

    tools = [FunctionTool("a", never, reads_only=True), FunctionTool("b", never, reads_only=True)]
    made = bench(asks_for("a", "b"), tools=tools, hooks=[hook("h", {Stage.BEFORE_TOOL: abort_at_b})])
    await made.play()
    tally = made.agent.tally
    assert (tally.calls, tally.allowed, tally.dropped, tally.executed) == (1, 1, 1, 0)
