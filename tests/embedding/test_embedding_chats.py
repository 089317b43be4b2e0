"""One runtime for many chats: each is a conversation of its own, side by side with the others, for hooks too."""

from __future__ import annotations

import pytest
import trio

from hookgate.embedding import (
    AssistantMessage,
    Busy,
    Decision,
    Done,
    Event,
    Events,
    Runtime,
    Text,
    TextDelta,
    ToolResult,
    TurnEnd,
)
from hookgate.protocol.approval import ApprovalRequest
from tests.embedding.conftest import Scripted

DEADLINE_S = 30.0
ENDLESS = {"when": "endless", "text": "This reply never comes to its end", "hang": True}
BASH = {"name": "bash", "arguments": {"command": "echo hi"}, "id": "c1"}
HERE = '[[approvals]]\ntools = ["bash"]\nchats = ["ops"]\n'


async def told(events: Events) -> list[Event]:
    with trio.fail_after(DEADLINE_S):
        return [event async for event in events]


def texts(events: list[Event]) -> list[str]:
    blocks = [block for it in events if isinstance(it, AssistantMessage) for block in it.content]
    return [block.text for block in blocks if isinstance(block, Text)]


async def test_chats_run_side_by_side_and_cancel_ends_one_of_them(scripted: Scripted) -> None:
    async with Runtime(scripted(ENDLESS, {"when": "quick", "text": "Quick."})) as runtime:
        room, person = runtime.chat("room", chat_type="group", sender="7", thread="t"), runtime.chat("9")
        endless = room.prompt("endless")
        with trio.fail_after(DEADLINE_S):
            while not isinstance(await anext(endless), TextDelta):
                pass
        assert texts(await told(person.prompt("quick"))) == ["Quick."]
        assert texts(await told(runtime.prompt("quick"))) == ["Quick."]
        with trio.fail_after(DEADLINE_S):
            await person.cancel()
            await runtime.cancel()
        same = runtime.chat("room", sender="8", thread="t")
        assert (same.state().busy, person.state().busy, runtime.state().busy) == (True, False, False)
        with pytest.raises(Busy):
            await same.set_model("other")
        with trio.fail_after(DEADLINE_S):
            await same.cancel()
        assert [it for it in await told(endless) if isinstance(it, TurnEnd | Done)] == [
            TurnEnd("aborted", "context canceled"),
            Done(),
        ]
        counts = [it.state().message_count for it in (room, person, runtime, runtime.chat("room"))]
        assert counts == [2, 2, 2, 0]
        await person.clear()
        assert (person.messages(), len(runtime.messages())) == ((), 2)


async def test_a_question_names_the_chat_and_another_chat_has_none(scripted: Scripted) -> None:
    asked: list[tuple[str, str]] = []

    async def approve(request: ApprovalRequest) -> Decision:
        await trio.lowlevel.checkpoint()
        asked.append((request.chat.chat_id, request.chat.sender))
        return Decision(approved=True, by="a test")

    steps = [{"when": "go", "calls": [BASH]}, {"on": "tool", "when": "", "text": "So."}]
    async with Runtime(scripted(*steps, more=HERE), approve=approve) as runtime:
        for chat in (runtime.chat("ops", sender="7"), runtime.chat("other")):
            events = await told(chat.prompt("go"))
            assert [it.is_error for it in events if isinstance(it, ToolResult)] == [False]
    assert asked == [("ops", "7")]


async def test_a_sender_is_the_programs_word_and_decides_nothing(scripted: Scripted) -> None:
    boss = '[people.boss]\nids = ["embedded:boss"]\n'
    rule = '[[approvals]]\ntools = ["bash"]\napprovers = ["boss"]\nself_approval = true\n'
    rule = '[[approvals]]\ntools = ["bash"]\napprovers = ["boss"]\nself_approval = true\n'

    async def approve(_request: ApprovalRequest) -> Decision:
        await trio.lowlevel.checkpoint()
        return Decision(approved=True, by="boss")

    steps = [{"when": "go", "calls": [BASH]}, {"on": "tool", "when": "", "text": "So."}]
    async with Runtime(scripted(*steps, more=boss + rule), approve=approve) as runtime:
        events = await told(runtime.chat("ops", sender="boss").prompt("go"))
        assert [it.is_error for it in events if isinstance(it, ToolResult)] == [True]


def test_what_names_no_chat_says_why(scripted: Scripted) -> None:
    runtime = Runtime(scripted())
    with pytest.raises(ValueError, match="chat_type must be one of direct, group, channel"):
        runtime.chat("x", chat_type="crowd")
    with pytest.raises(ValueError, match="chat_id must have at most 200 characters"):
        runtime.chat("x" * 201)
    with pytest.raises(TypeError, match="chat_id must be a str, not int"):
        runtime.chat(90210)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match="not open"):
        runtime.chat("x").prompt("go")
