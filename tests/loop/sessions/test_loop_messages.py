"""The stages of a message within a turn: what joins the conversation, what the chat reads, what is read along."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import trio

from hookgate.loop.calls.finish import DELIVERED
from hookgate.protocol.chat import ChatMessage
from hookgate.protocol.events.payloads import TurnEnd
from hookgate.protocol.hook.answers import Abort, Answer, Drop, Failed, Modify, ReplyWith
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import ToolCall, ToolResult
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]

ON, SEND = Stage.ON_MESSAGE, Stage.BEFORE_SEND


@pytest.mark.parametrize(
    ("answer", "lines", "kept", "asked"),
    [
        (Modify({"text": "polite"}), ["answer fine"], ["polite", "fine"], 1),
        (ReplyWith("We are closed."), ["answer We are closed."], ["go", "We are closed."], 0),
        (Drop("spam"), ["notice Message refused by hook h: spam"], [], 0),
        (Drop("spam", ""), [], [], 0),
        (Abort("no"), ["error Hook h stopped this turn: no"], [], 0),
        (Abort("no", hard=True), ["error Hook h stopped this conversation: no"], [], 0),
    ],
)
async def test_a_message_is_judged_before_it_joins_the_conversation(
    answer: Answer, lines: list[str], kept: list[str], asked: int, bench: MakeBench
) -> None:
    made = bench(says("fine"), hooks=[hook("h", {ON: answer})])
    await made.play("go")
    said = [f"{it.kind} {it.text}" for it in made.room.sent]
    assert [it.split(" ")[0] for it in said] == [it.split(" ")[0] for it in lines]
    assert said == lines or isinstance(answer, Abort)
    assert [it.content for it in made.messages()] == kept
    assert len(made.provider.requests) == asked
    assert len(made.payloads(TurnEnd)) == 1
    assert await made.journal.intake.unfinished() == ()


async def test_a_message_after_a_summary_is_judged_and_answered_too(bench: MakeBench) -> None:
    turns = [says("x" * 4000) for _ in range(4)]
    made = bench(*turns, says("a summary"), says("fine"), hooks=[hook("h", {ON: Modify({"text": "judged"})})])
    await made.play("1", "2", "3", "4", "/compact", "after it")
    assert made.provider.requests[-1].messages[-1].content == "judged"
    assert [it.content for it in made.messages()][-2:] == ["judged", "fine"]
    assert "a summary" in made.messages()[0].content


async def test_a_message_that_is_stopped_while_it_is_judged_joins_nothing(bench: MakeBench) -> None:
    async def hang(_question: Question) -> Answer:
        await trio.sleep_forever()
        return Failed("never")

    made = bench(says("never"), hooks=[hook("h", {ON: hang})])
    async with made.opened():
        await made.say("unjudged")
        await trio.testing.wait_all_tasks_blocked()
        await made.say("/stop")
        await made.idle()
        assert (made.lines, made.messages()) == (["Stopped."], ())


@pytest.mark.parametrize(
    ("answer", "lines", "stream"),
    [
        (Modify({"text": "better"}), ["better"], "better"),
        (Drop("rude"), ["Message withheld by hook h: rude"], ""),
        (Drop("rude", ""), [], ""),
    ],
)
async def test_an_answer_is_judged_before_anybody_reads_it(
    answer: Answer, lines: list[str], stream: str, bench: MakeBench
) -> None:
    made = bench(says("as the model said it"), hooks=[hook("h", {SEND: answer})])
    await made.play()
    assert (made.lines, made.room.streamed) == (lines, stream)
    # What the model has said stays said, for the model.
    assert made.messages()[-1].content == "as the model said it"


async def test_what_tools_show_is_judged_and_hookgates_own_lines_are_not(bench: MakeBench) -> None:
    subjects: list[tuple[str, str]] = []

    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        subject = question.subject
        assert isinstance(subject, ChatMessage)
        subjects.append((subject.kind, subject.text))
        return Drop("secret") if subject.text == "raw" else Modify({"text": subject.text.upper()})

    async def shows(call: ToolCall) -> ToolResult:
        await trio.lowlevel.checkpoint()
        return ToolResult("ok", for_user=call.name, response_handled=call.name != "plain")

    tools = [FunctionTool(name, shows) for name in ("plain", "raw", "done")]
    made = bench(asks_for("plain", "raw", "done"), says("x"), tools=tools, hooks=[hook("h", {SEND: judge})])
    await made.play("go")
    await trio.lowlevel.checkpoint()
    assert subjects == [("output", "plain"), ("output", "raw"), ("output", "done"), ("answer", "x")]
    assert sorted(made.lines) == sorted(["PLAIN", "DONE", "Message withheld by hook h: secret", "X"])
    assert made.results() == [
        "ok",
        "failed to deliver attachment: Message withheld by hook h: secret",
        f"ok\n{DELIVERED}",
    ]
