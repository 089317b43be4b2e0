"""What becomes of a message while a turn runs, as the channel has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest
import trio

from hookgate.loop.calls.calls import AGAIN, SKIPPED
from hookgate.loop.gateway import REJECTED
from hookgate.protocol.chat import ChatMessage, Inbound
from hookgate.protocol.chat.channel import Busy, ChannelPolicy
from hookgate.protocol.events.payloads import SteeringInjected
from hookgate.protocol.hook.answers import Answer, Drop, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.journal.values import Arrival, Draft
from hookgate.protocol.values import Message, ToolCall
from hookgate.store.attempts import GIVEN_UP, MAX_ATTEMPTS
from tests.loop.recording import CHAT, Bench, FunctionTool, asks_for, hook, is_valid, says

MakeBench = Callable[..., Bench]
STEERS = ChannelPolicy("steer")


async def outcomes(made: Bench, *messages: str) -> list[str]:
    ends = ("answered", "refused", "dropped", "dead")
    ways = [found.passages for it in messages for found in await made.journal.books.where(it)]
    return [next((it.what for it in way if it.what in ends), "") for way in ways]


class Held:
    """A tool that runs until it is let go."""

    def __init__(self) -> None:
        self.begun, self.go = trio.Event(), trio.Event()
        self.tool = FunctionTool("work", self._run)

    async def interrupted(self, made: Bench) -> None:
        """The first message's turn runs the tool when the second one comes."""
        await made.say("first")
        await self.begun.wait()
        await made.say("second")

    async def _run(self, _call: ToolCall) -> str:
        self.begun.set()
        await self.go.wait()
        return "worked"


@pytest.mark.parametrize(
    ("busy", "lines", "kept"),
    [
        ("reject", [REJECTED, "one"], ["first", "worked", "worked", "one"]),
        ("queue", ["one", "two"], ["first", "worked", "worked", "one", "second", "two"]),
        ("steer", ["one"], ["first", "worked", f"ERROR (transient) work: {SKIPPED}\n{AGAIN}", "second", "one"]),
    ],
)
async def test_a_message_waits_joins_or_is_refused(
    busy: Busy, lines: list[str], kept: list[str], bench: MakeBench
) -> None:
    held = Held()
    made = bench(asks_for("work", "work"), says("one"), says("two"), tools=[held.tool], policy=ChannelPolicy(busy))
    async with made.opened():
        await held.interrupted(made)
        held.go.set()
        await made.idle()
        assert [it.content for it in made.messages() if it.content] == kept
        assert made.lines == lines
        assert await outcomes(made, "M1", "M2") == ["answered", "refused" if busy == "reject" else "answered"]
        assert len(made.payloads(SteeringInjected)) == (busy == "steer")
        assert is_valid(made.messages())


async def test_only_who_is_answered_steers(bench: MakeBench) -> None:
    held = Held()
    made = bench(asks_for("work"), says("one"), says("two"), tools=[held.tool], policy=STEERS)
    async with made.opened():
        await made.say("first")
        await held.begun.wait()
        await made.say("mine", replace(CHAT, sender="eve"))
        held.go.set()
        await made.idle()
        assert [it.content for it in made.messages() if it.role == "user"] == ["first", "mine"]
        assert made.lines == ["one", "two"]
        assert made.payloads(SteeringInjected) == []


async def test_what_no_model_has_read_when_the_turn_ends_gets_a_turn_of_its_own(bench: MakeBench) -> None:
    held = Held()
    made = bench(asks_for("work"), says("never mind"), tools=[held.tool], policy=STEERS)
    async with made.opened():
        await held.interrupted(made)
        await made.say("/stop")
        await made.idle()
        assert made.lines == ["Stopped.", "never mind"]
        assert await outcomes(made, "M1", "M2") == ["dropped", "answered"]
        assert [it.content for it in made.messages() if it.role == "user"] == ["first", "second"]


async def test_what_joined_and_was_never_read_is_asked_again_once(bench: MakeBench) -> None:
    held, reading = Held(), trio.Event()

    async def hang(question: Question) -> Answer:
        if question.step.iteration == 1:
            reading.set()
            await trio.sleep_forever()
        return Modify({})

    hooks = [hook("h", {Stage.BEFORE_LLM: hang})]
    made = bench(asks_for("work"), says("two"), tools=[held.tool], policy=STEERS, hooks=hooks)
    async with made.opened():
        await held.interrupted(made)
        held.go.set()
        await reading.wait()
        assert made.messages()[-1].content == "second"
        await made.say("/stop")
        await made.idle()
        assert made.lines == ["Stopped.", "two"]
        assert [it.content for it in made.messages() if it.role == "user"] == ["first", "second"]
        assert await outcomes(made, "M1", "M2") == ["dropped", "answered"]


@pytest.mark.parametrize(
    ("read", "stopped", "lines", "ends"),
    [
        (True, False, ["last"], ["answered", "answered"]),
        (False, False, ["last"], ["answered", "answered"]),
        (True, True, ["Stopped."], ["dropped", "dropped"]),
        (False, True, ["Stopped.", "last"], ["dropped", "answered"]),
    ],
)
async def test_what_joined_before_a_crash_is_answered_once_after_it(
    read: bool, stopped: bool, lines: list[str], ends: list[str], bench: MakeBench
) -> None:
    held, hangs_at, hanging = Held(), {2 if read else 1}, trio.Event()

    async def hang(question: Question) -> Answer:
        if question.step.iteration in hangs_at:
            hangs_at.clear()
            hanging.set()
            await trio.sleep_forever()
        return Modify({})

    parts = {"tools": [held.tool], "policy": STEERS, "hooks": [hook("h", {Stage.BEFORE_LLM: hang})]}
    before = bench(asks_for("work"), asks_for("work"), **parts)
    async with before.opened():
        await held.interrupted(before)
        held.go.set()
        await hanging.wait()
    before.journal.reopen()
    hanging = trio.Event()
    hangs_at |= {1, 2} if stopped else set()
    after = bench(says("last"), journal=before.journal, **parts)
    async with after.opened():
        if stopped:
            await hanging.wait()
            await after.say("/stop")
        await after.idle()
        assert after.lines == lines
        assert [it.content for it in after.messages() if it.role == "user"] == ["first", "second"]
    assert await outcomes(after, "M1", "M2") == ends
    assert await after.journal.intake.unfinished() == ()


async def test_what_had_joined_a_message_that_is_given_up_is_answered_by_the_same_start(bench: MakeBench) -> None:
    made = bench(says("two"), policy=STEERS)
    intake, work = made.journal.intake, made.journal.work
    first = await intake.accept(Arrival(Inbound(CHAT, "first"), "main", ""))
    second = await intake.accept(Arrival(Inbound(CHAT, "second"), "main", ""))
    for attempt in range(MAX_ATTEMPTS + 1):
        claim = await work.claim("gateway", 60, first.conversation, first.id)
        assert claim is not None
        if not attempt:
            await work.append(claim, [Draft(Message("user", "first"))])
            await work.join(claim, second.id, Message("user", "second"))
        made.journal.reopen()
    async with made.opened():
        await made.idle()
        assert made.lines == [GIVEN_UP, "two"]
        assert [it.content for it in made.messages()] == ["first", "second", "two"]
    assert await outcomes(made, first.id, second.id) == ["dead", "answered"]


@pytest.mark.parametrize(
    ("answer", "said", "lines"),
    [
        (Modify({"text": "polite"}), ["first", "polite"], ["one"]),
        (Drop("spam"), ["first"], ["Message refused by hook h: spam", "one"]),
    ],
)
async def test_a_message_that_steers_is_judged_before_it_joins(
    answer: Answer, said: list[str], lines: list[str], bench: MakeBench
) -> None:
    async def judge(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        assert isinstance(question.subject, ChatMessage)
        return answer if question.subject.kind == "steer" else Modify({"text": "first"})

    held = Held()
    hooks = [hook("h", {Stage.ON_MESSAGE: judge})]
    made = bench(asks_for("work"), says("one"), tools=[held.tool], policy=STEERS, hooks=hooks)
    async with made.opened():
        await held.interrupted(made)
        held.go.set()
        await made.idle()
        assert [it.content for it in made.messages() if it.role == "user"] == said
        assert made.lines == lines
        assert await made.journal.intake.unfinished() == ()


async def test_late_parts_of_an_album_join_its_turn_and_nothing_else_does(bench: MakeBench) -> None:
    """One that comes while it runs, and one that waited with it."""
    held = Held()
    made = bench(asks_for("work"), says("one"), asks_for("work"), says("two"), says("three"), tools=[held.tool])
    async with made.opened():
        await made.say("first")
        await held.begun.wait()
        for text, album in (("a1", "A"), ("b1", "B"), ("a2", "A")):
            await made.gateway.receive(Inbound(CHAT, text, message_id=text, album=album))
        held.go, go = trio.Event(), held.go
        held.begun = trio.Event()
        go.set()
        await held.begun.wait()
        await made.gateway.receive(Inbound(CHAT, "a3", message_id="a3", album="A"))
        held.go.set()
        await made.idle()
        assert [it.content for it in made.messages() if it.role == "user"] == ["first", "a1", "a2", "a3", "b1"]
        assert made.lines == ["one", "two", "three"]
        assert await outcomes(made, "M1", "M2", "M3", "M4", "M5") == ["answered"] * 5
