"""Turns at work at once: no more than may be, and one that waits for a person is none of them."""

from __future__ import annotations

from collections.abc import Callable

import trio
import trio.testing

from hookgate.loop.slots import Slot
from hookgate.protocol.approval import Decision, Voter
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.answers import CONTINUE, Answer, Approve, Ask
from hookgate.protocol.hook.stages import Question, Stage
from tests.loop.recording import Bench, FunctionTool, asks_for, hook, says

MakeBench = Callable[..., Bench]
CHATS = [Chat("test", str(number), sender="ann") for number in range(5)]


async def test_no_more_turns_work_at_once_than_may_and_every_message_is_answered(bench: MakeBench) -> None:
    working, most = 0, 0

    async def count(_question: Question) -> Answer:
        nonlocal working, most
        working += 1
        most = max(most, working)
        for _ in range(20):
            await trio.lowlevel.checkpoint()
        working -= 1
        return CONTINUE

    made = bench(*[says("x")] * 5, hooks=[hook("h", {Stage.BEFORE_LLM: count})], max_turns=2)
    async with made.opened():
        for chat in CHATS:
            await made.say("go", chat)
        for chat in CHATS:
            await made.idle(chat)
    assert (most, len(made.lines)) == (2, 5)


async def test_calls_of_one_turn_that_come_back_together_have_one_place() -> None:
    slots, back = trio.Semaphore(2), trio.Event()

    async def wait(slot: Slot) -> None:
        async with slot.given_back():
            await back.wait()

    with trio.fail_after(60):
        async with Slot(slots) as slot, trio.open_nursery() as nursery:
            nursery.start_soon(wait, slot)
            nursery.start_soon(wait, slot)
            await trio.testing.wait_all_tasks_blocked()
            async with Slot(slots), Slot(slots):
                back.set()
                await trio.testing.wait_all_tasks_blocked()
    assert slots.value == 2


async def test_a_turn_that_waits_for_a_person_holds_neither_a_place_nor_the_workspace(bench: MakeBench) -> None:
    async def ask_the_first(question: Question) -> Answer:
        await trio.lowlevel.checkpoint()
        return Ask() if question.step.chat == CHATS[0] else Approve()

    tool = FunctionTool("t")
    made = bench(
        *(asks_for("t"), asks_for("t"), says("second"), says("first")),
        tools=[tool],
        hooks=[hook("h", {Stage.APPROVE_TOOL: ask_the_first})],
        max_turns=1,
    )
    async with made.opened():
        await made.say("first", CHATS[0])
        await made.room.asking.wait()
        # It needs the one place, and the lease to write.
        await made.say("second", CHATS[1])
        await made.idle(CHATS[1])
        assert made.lines == ["second"]
        [request] = made.room.asked
        await made.agent.approvals.decide(request.id, Decision(True, "ann"), Voter("test", "ann"))
        await made.idle(CHATS[0])
    assert made.lines == ["second", "first"]
    assert len(tool.seen) == 2


async def test_a_turn_that_waits_for_its_place_can_be_stopped_and_keeps_what_was_said(bench: MakeBench) -> None:
    there, leave = trio.Event(), trio.Event()

    async def hold(_question: Question) -> Answer:
        there.set()
        await leave.wait()
        return CONTINUE

    made = bench(says("first"), says("later"), hooks=[hook("h", {Stage.BEFORE_LLM: hold})], max_turns=1)
    async with made.opened():
        await made.say("first", CHATS[0])
        await there.wait()
        await made.say("second", CHATS[1])
        while not made.gateway.sessions[CHATS[1].session_key].busy:
            await trio.lowlevel.checkpoint()
        await made.say("/stop", CHATS[1])
        await made.idle(CHATS[1])
        assert made.lines == ["Stopped."]
        assert [message.content for message in made.messages(CHATS[1])] == ["second"]
        leave.set()
        await made.idle(CHATS[0])
    assert made.lines == ["Stopped.", "first"]
