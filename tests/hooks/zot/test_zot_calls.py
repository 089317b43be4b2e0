"""Tools, interceptions and commands of one extension: every answer, and every way not to get one."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from hookgate.hooks.zot import extension as zot
from hookgate.hooks.zot import notes
from hookgate.hooks.zot import tool as zot_tool
from hookgate.hooks.zot.extension import ZotExtension
from hookgate.hooks.zot.notes import MAX_SHOWN
from hookgate.processes import group
from hookgate.protocol import call_context
from hookgate.protocol.chat import Chat
from hookgate.protocol.hook.answers import CONTINUE, Abort, Answer, Deny, Failed, Modify
from hookgate.protocol.hook.stages import Question, Stage
from hookgate.protocol.values import Finished, LLMReply, Message, ToolCall, ToolResult
from hookgate.protocol.zot.answers import CommandAnswer
from hookgate.protocol.zot.frames import Panel
from tests.hooks.doubles import CHAT, STEP
from tests.hooks.processes import DEADLINE_S
from tests.hooks.zot.extensions import (
    REQUEST,
    Theatre,
    asked,
    judged,
    open_ext,
    received,
    run,
    told,
)

REPLY = LLMReply("openai/gpt", "the secret is 42")


@pytest.fixture(autouse=True)
def brisk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group, "CLOSE_WAIT_S", 0.3)
    monkeypatch.setattr(group, "TERM_WAIT_S", 0.2)


# --- tools ---


async def test_a_tool_is_called_with_its_arguments_and_answers_with_blocks() -> None:
    async with open_ext() as extension:
        result = await run(extension, "blocks", blocks=[{"type": "text", "text": "16°C"}, {"type": "audio"}])
        assert result == ToolResult('16°C\n[unknown block type "audio" from extension ext]')
        result = await run(extension, "blocks", blocks=[], members={"is_error": True})
        assert (result.is_error, result.for_llm) == (True, "(extension returned no content)")
        assert (await run(extension, "image")).media == ("data:image/png;base64,cG5n",)
        last = (await received(extension, "tool_call"))[-1]
    assert last == {"type": "tool_call", "id": "4", "name": "do", "args": {"do": "received"}}


async def test_an_answer_of_the_wrong_shape_fails_the_call_now() -> None:
    async with open_ext() as extension:
        result = await run(extension, "members", members={"content": "text"})
        assert result.is_error
        assert result.for_llm == "extension ext/do failed: content must be an array, not a string"
        assert await told(extension, "where")


@pytest.mark.parametrize("cancels", [False, True])
async def test_a_tool_that_does_not_answer_times_out_and_is_cancelled_if_it_asked_for_that(
    cancels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zot_tool, "TOOL_TIMEOUT_S", 0.1)
    capabilities = ["tool_cancel"] if cancels else []
    async with open_ext("hello", {"capabilities": capabilities}) as extension:
        result = await run(extension, "silent")
        assert result.for_llm == "extension ext/do failed: timeout waiting for ext/do"
        assert result.is_error
        with trio.move_on_after(0.05):
            await run(extension, "silent")
        monkeypatch.setattr(zot_tool, "TOOL_TIMEOUT_S", DEADLINE_S)
        frames = await received(extension, "tool_cancel")
    assert [frame["id"] for frame in frames] == (["1", "2"] if cancels else [])


async def test_a_crash_fails_the_call_at_once() -> None:
    async with open_ext() as extension:
        with trio.fail_after(20):
            result = await run(extension, "exit", status=3)
        assert (result.is_error, result.for_llm) == (True, "extension ext/do failed: extension ext disconnected")
        result = await run(extension, "where")
        assert result.for_llm == "extension ext/do failed: extension ext disconnected"


async def test_a_tool_is_an_ordinary_one_of_the_extensions_own_provider() -> None:
    async with open_ext() as extension:
        (tool,) = extension.tools
        assert (tool.spec.provider, tool.spec.owner, tool.spec.mutates) == ("zot:ext", "", True)
        assert 60 < tool.spec.timeout_s < 65


# --- interceptions ---


@pytest.mark.parametrize(
    ("says", "answer"),
    [
        (None, CONTINUE),
        ({"block": True, "reason": "guard refused: rm"}, Deny("guard refused: rm", bare=True)),
        ({"block": True}, Deny("tool call refused by extension guard", bare=True)),
        ({"modified_args": {"command": "ls"}}, Modify({"arguments": {"command": "ls"}})),
        ({"modified_args": None}, CONTINUE),
        ({"modified_args": "rm"}, Failed("modified_args must be an object, not a string", closes=True)),
        ({"block": "yes"}, Failed("block must be true or false, not a string", closes=True)),
        ({"block": True, "reason": 5}, Failed("reason must be a string, not a number", closes=True)),
        ({"modified_args": {}, "reason": 5}, Failed("reason must be a string, not a number", closes=True)),
        (
            {"modified_args": "x", "replace_text": 5},
            Failed("replace_text must be a string, not a number", closes=True),
        ),
        (
            {"modified_args": 0, "system_prompt": 5},
            Failed("system_prompt must be a string, not a number", closes=True),
        ),
        ({"Modified_Args": "x"}, Failed("'Modified_Args' must be written 'modified_args'", closes=True)),
        ({"block": False, "modified_args": None, "reason": 5}, Failed("reason must be a string, not a number")),
        ("exit", Failed("it exited with status 3")),
    ],
)
async def test_a_call_is_passed_blocked_changed_or_the_extension_has_failed(says: Any, answer: Answer) -> None:
    async with open_ext("plain", [{"type": "subscribe", "intercept": ["tool_call"]}]) as extension:
        assert await judged(extension, says) == answer


async def test_what_is_wrong_with_an_answer_stands_in_the_extensions_log() -> None:
    theatre = Theatre()
    async with open_ext("plain", [{"type": "subscribe", "intercept": ["tool_call"]}], theatre=theatre) as extension:
        for says in ({"modified_args": "rm"}, {"block": "yes"}, {"block": True, "reason": "no"}):
            await judged(extension, says)
        await extension.command("Do", json.dumps({"answer": {"action": "dance"}}), None)
        await extension.command("Do", json.dumps({"answer": {"error": "its own"}}), None)
    assert [text for text in theatre.journal.said if text.startswith("the answer")] == [
        "the answer with id 1: modified_args must be an object, not a string",
        "the answer with id 2: block must be true or false, not a string",
        "the answer with id 4: extension /Do: unknown action dance",
    ]


async def test_an_interceptor_that_is_silent_has_failed_and_its_late_answer_is_dropped() -> None:
    async with open_ext("plain", [{"type": "subscribe", "intercept": ["tool_call"]}]) as extension:
        assert await judged(extension, "silent", 0.1) == Failed("no answer within 100 ms")
        (frame,) = await received(extension, "event_intercept")
        assert frame == {
            "type": "event_intercept",
            "event": "tool_call",
            "id": "1",
            "tool_id": "c1",
            "tool_name": "bash",
            "tool_args": {"answer": "silent"},
        }
        late = {"type": "event_intercept_response", "id": "1", "block": True}
        await told(extension, "say", frames=[late])
        assert extension.protocol_errors.strays == 1


async def test_what_is_not_intercepted_is_not_asked() -> None:
    async with open_ext() as extension:
        assert await judged(extension, {"block": True}) == CONTINUE
        assert await asked(extension, REQUEST) == CONTINUE
        assert await asked(extension, REPLY) == CONTINUE
        finished = Finished(ToolCall("c1", "bash", {}), ToolResult("x"), 1)
        for stage, subject in ((Stage.AFTER_TOOL, finished), (Stage.APPROVE_TOOL, finished.call)):
            assert await extension.ask(Question(stage, STEP, subject), 1) == CONTINUE
        assert await received(extension, "event_intercept") == []


@pytest.mark.parametrize(
    ("says", "answer"),
    [
        ({}, CONTINUE),
        ({"block": True, "reason": "quota"}, Abort("quota")),
        ({"block": True}, Abort("turn blocked by extension guard")),
        ({"reason": 7}, Failed("reason must be a string, not a number")),
    ],
)
async def test_a_turn_is_passed_or_blocked(says: Any, answer: Answer) -> None:
    async with open_ext("story", {"turn_start": says}) as extension:
        assert await asked(extension, REQUEST) == answer
        (frame,) = await received(extension, "event_intercept")
        assert frame == {"type": "event_intercept", "event": "turn_start", "id": "1", "step": 1}


@pytest.mark.parametrize(
    ("says", "answer"),
    [
        ({}, CONTINUE),
        ({"replace_text": "the secret is ***"}, Modify({"shown": "the secret is ***"})),
        ({"block": True, "reason": "pii"}, Modify({"shown": "", "withheld_by": "ext withheld the reply: pii"})),
        ("exit", Failed("it exited with status 3")),
    ],
)
async def test_of_a_reply_only_what_is_shown_is_changed(says: Any, answer: Answer) -> None:
    async with open_ext("story", {"assistant_message": says}) as extension:
        assert await asked(extension, REPLY) == answer


async def test_a_reply_is_judged_by_what_people_would_see_and_not_without_text() -> None:
    async with open_ext("story", {"assistant_message": {}}) as extension:
        for reply in (
            REPLY,
            replace(REPLY, shown="first rewrite"),
            replace(REPLY, shown=""),
            replace(REPLY, content=""),
        ):
            assert await asked(extension, reply) == CONTINUE
        frames = await received(extension, "event_intercept")
    assert [frame["text"] for frame in frames] == ["the secret is 42", "first rewrite"]


async def test_a_system_prompt_is_asked_for_once_a_session_and_again_for_another_model() -> None:
    theatre = Theatre()
    async with open_ext("story", {"before_agent_start": {"system_prompt": "be brief"}}, theatre) as extension:
        brief = Modify({"messages": (Message("system", "be brief"), Message("user", "hi"))})
        assert await asked(extension, REQUEST) == brief
        assert await asked(extension, REQUEST) == brief
        assert await asked(extension, replace(REQUEST, messages=(Message("system", "be brief"),))) == CONTINUE
        frames = await received(extension, "event_intercept")
        assert frames == [
            {
                "type": "event_intercept",
                "event": "before_agent_start",
                "id": "1",
                "system_prompt": "be kind",
                "session_id": "telegram:-42",
                "agent_run_id": "main-turn-1",
                "cwd": "/project",
                "provider": "openai",
                "model": "gpt",
            }
        ]
        await asked(extension, replace(REQUEST, model="openai/other"))
        await asked(extension, REQUEST)
        theatre.roster.forget_session("telegram:-42")
        await asked(extension, REQUEST)
        assert len(await received(extension, "event_intercept")) == 4


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        ({"system_prompt": 7}, "system_prompt must be a string, not a number"),
        ({"system_prompt": "x" * 1_100_000}, "system_prompt is over 1048576 bytes"),
        ("silent", "no answer within 300 ms"),
    ],
)
async def test_a_bad_system_prompt_keeps_the_current_one_and_warns(says: Any, reason: str, tmp_path: Path) -> None:
    theatre = Theatre()
    story = tmp_path / "story.json"
    story.write_text(json.dumps({"before_agent_start": says}))
    async with open_ext("story_file", str(story), theatre) as extension:
        assert await asked(extension, REQUEST, 0.3) == CONTINUE
        assert await asked(extension, REQUEST, 0.3) == CONTINUE
        assert len(await received(extension, "event_intercept")) == 1
    text = f"before_agent_start: {reason}; keeping current system prompt"
    assert theatre.screen.shown == [("note", "ext", "warn", text, CHAT)]


async def test_a_blocked_turn_is_blocked_even_with_another_system_prompt() -> None:
    story = {"before_agent_start": {"system_prompt": ""}, "turn_start": {"block": True, "reason": "quota"}}
    async with open_ext("story", story) as extension:
        assert await asked(extension, REQUEST) == Abort("quota")
    async with open_ext("story", {**story, "turn_start": {}}) as extension:
        assert await asked(extension, REQUEST) == Modify({"messages": (Message("user", "hi"),)})


async def test_drained_waits_for_the_calls_in_flight() -> None:
    async with open_ext() as extension, trio.open_nursery() as nursery:
        with trio.fail_after(DEADLINE_S):
            await extension.drained()
            nursery.start_soon(run, extension, "silent")
            await trio.testing.wait_all_tasks_blocked()
            with trio.move_on_after(0.05) as scope:
                await extension.drained()
            assert scope.cancelled_caught
            nursery.cancel_scope.cancel()


# --- commands ---


@pytest.mark.parametrize(
    ("args", "answer"),
    [
        ("  x  ", CommandAnswer("display", "Do x")),
        ("", CommandAnswer("display", "Do")),
        ('{"answer":{"action":"prompt","prompt":"go"}}', CommandAnswer("prompt", "go")),
        ('{"answer":{"action":"dance"}}', CommandAnswer("error", "extension /Do: unknown action dance")),
        ('{"answer":{"action":"noop","error":"usage"}}', CommandAnswer("error", "extension /Do: usage")),
        ('{"answer":{"action":7}}', CommandAnswer("error", "extension /Do: action must be a string, not a number")),
        ('{"exit":true}', CommandAnswer("error", "extension /Do: extension ext disconnected")),
    ],
)
async def test_a_command_is_found_in_any_case_and_invoked_as_registered(args: str, answer: CommandAnswer) -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre):
        with trio.fail_after(DEADLINE_S):
            assert await theatre.roster.command("dO", args) == answer


async def test_a_command_that_is_not_answered_or_not_there_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(zot, "COMMAND_TIMEOUT_S", 0.1)
    theatre = Theatre()
    async with open_ext(theatre=theatre):
        with trio.fail_after(DEADLINE_S):
            late = await theatre.roster.command("do", '{"silent":true}')
    assert late == CommandAnswer("error", "extension /Do: timeout waiting for ext/Do")
    gone = await theatre.roster.command("do", "")
    assert gone == CommandAnswer("error", "extension ext is not up just now: /Do comes back with it")
    nowhere = await theatre.roster.command("undo", "")
    assert nowhere == CommandAnswer("error", "no extension registered for /undo")


# --- notes, panels, submits: to whom ---

NOTE = {"type": "notify", "level": "warn", "message": "m"}


async def test_a_note_comes_before_the_answer_and_goes_to_the_chat_whose_call_it_belongs_to() -> None:
    theatre = Theatre()
    frames = [NOTE, {"type": "clear_notes"}, {"type": "submit", "text": " go "}, {"type": "submit", "text": " "}]
    async with open_ext(theatre=theatre) as extension:
        call_context.work.set(call_context.Work(CHAT))
        await told(extension, "say", frames=frames)
        assert theatre.screen.shown == [
            ("note", "ext", "warn", "m", CHAT),
            ("clear", "ext"),
            ("submit", "ext", "go", CHAT),
        ]
        theatre.screen.shown.clear()
        with trio.fail_after(DEADLINE_S):
            await theatre.roster.command("do", json.dumps({"frames": [NOTE]}), CHAT)
        assert theatre.screen.shown == [("note", "ext", "warn", "m", CHAT)]


async def test_of_a_flood_of_notes_some_are_shown_and_then_how_many_more_there_were() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre) as extension:
        call_context.work.set(call_context.Work(CHAT))
        await told(extension, "say", frames=[NOTE] * 5000)
        assert theatre.screen.shown == [("note", "ext", "warn", "m", CHAT)] * MAX_SHOWN
    left_out = f"{5000 - MAX_SHOWN} more notes were left out: it sent too many in 5 s"
    assert theatre.screen.shown[MAX_SHOWN:] == [("note", "ext", "warn", left_out, CHAT)]


async def test_how_many_notes_were_left_out_is_said_soon_and_then_notes_are_shown_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(notes, "WITHIN_S", 0.5)
    theatre = Theatre()
    async with open_ext(theatre=theatre) as extension:
        await told(extension, "say", frames=[NOTE] * (MAX_SHOWN + 1))
        with trio.fail_after(DEADLINE_S):
            while len(theatre.screen.shown) <= MAX_SHOWN:
                await trio.sleep(0.01)
        assert theatre.screen.shown[-1][3] == "1 more note was left out: it sent too many in 0.5 s"
        await told(extension, "say", frames=[NOTE])
        assert theatre.screen.shown[-1] == ("note", "ext", "warn", "m", None)


async def test_a_note_without_a_call_or_between_two_chats_reaches_no_chat() -> None:
    theatre = Theatre()
    async with open_ext("plain", [NOTE], theatre) as extension:
        assert theatre.screen.shown == [("note", "ext", "warn", "m", None)]
        await told(extension, "say", frames=[NOTE])
        assert theatre.screen.shown[-1] == ("note", "ext", "warn", "m", None)
        async with serving_two_chats(extension):
            await told(extension, "say", frames=[NOTE])
            assert theatre.screen.shown[-1] == ("note", "ext", "warn", "m", None)
    assert call_context.work.get().chat is None


@asynccontextmanager
async def serving_two_chats(extension: ZotExtension) -> AsyncGenerator[None]:
    """A call of each is in flight inside the block."""

    async def hold(chat: Chat, n: int) -> None:
        call_context.work.set(call_context.Work(chat))
        await run(extension, "hold", until=3, n=n)

    async with trio.open_nursery() as nursery:
        nursery.start_soon(hold, CHAT, 1)
        nursery.start_soon(hold, replace(CHAT, chat_id="7"), 2)
        await trio.testing.wait_all_tasks_blocked()
        yield
        nursery.cancel_scope.cancel()


PANEL = {"id": "todos", "title": "Todos", "lines": ["a"]}


async def test_a_panel_is_opened_drawn_and_closed_and_keys_reach_its_owner() -> None:
    theatre = Theatre()
    roster, shown = theatre.roster, theatre.screen.shown
    async with open_ext(theatre=theatre) as extension:
        render = {"type": "panel_render", "panel_id": "todos", "lines": ["b"]}
        await told(extension, "say", frames=[render, {"type": "panel_close", "panel_id": "todos"}])
        assert shown == []
        opened = json.dumps({"answer": {"action": "open_panel", "open_panel": PANEL}})
        with trio.fail_after(DEADLINE_S):
            answer = await roster.command("do", opened, CHAT)
        assert answer.panel == Panel("todos", "Todos", ("a",))
        roster.press("up")
        roster.press("rune", "x")
        roster.press("enter", "never sent")
        await told(extension, "say", frames=[render])
        roster.press("esc")
        roster.press("down")
        frames = await received(extension, "panel_key", "panel_close")
        await told(extension, "say", frames=[render])
    assert shown == [
        ("panel", "ext", Panel("todos", "Todos", ("a",)), CHAT),
        ("panel", "ext", Panel("todos", "Todos", ("b",)), CHAT),
        ("panel_close", "ext", "todos"),
    ]
    assert frames == [
        {"type": "panel_key", "panel_id": "todos", "key": "up"},
        {"type": "panel_key", "panel_id": "todos", "key": "rune", "text": "x"},
        {"type": "panel_key", "panel_id": "todos", "key": "enter"},
        {"type": "panel_close", "panel_id": "todos"},
    ]


async def test_a_panel_moves_to_the_chat_that_opens_it_and_away_where_nobody_knows_whose_it_is() -> None:
    theatre, other = Theatre(), replace(CHAT, chat_id="7")
    opened = json.dumps({"answer": {"action": "open_panel", "open_panel": PANEL}})
    async with open_ext(theatre=theatre) as extension:
        with trio.fail_after(DEADLINE_S):
            for chat in (CHAT, CHAT, other):
                await theatre.roster.command("do", opened, chat)
        async with serving_two_chats(extension):
            await told(extension, "say", frames=[{"type": "open_panel", "panel": PANEL}])
        assert await received(extension, "panel_close") == []
    looks, closed = ("panel", "ext", Panel("todos", "Todos", ("a",))), ("panel_close", "ext", "todos")
    first, *_ = theatre.screen.shown
    assert first == (*looks, CHAT)
    assert theatre.screen.shown[1:] == [first, closed, (*looks, other), closed, (*looks, None), closed]


async def test_a_displaced_panel_is_closed_at_its_owner_and_a_dead_owners_at_once() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre) as first, open_ext(theatre=theatre, name="second", rank=1) as second:
        await told(first, "say", frames=[{"type": "open_panel", "panel": PANEL}])
        await told(second, "say", frames=[{"type": "open_panel", "panel": {"id": "x"}}])
        assert await received(first, "panel_close") == [{"type": "panel_close", "panel_id": "todos"}]
        await run(second, "exit")
        assert theatre.roster.panels.current is None
    assert theatre.screen.shown == [
        ("panel", "ext", Panel("todos", "Todos", ("a",)), None),
        ("panel_close", "ext", "todos"),
        ("panel", "second", Panel("x"), None),
        ("panel_close", "second", "x"),
    ]


async def test_of_one_command_in_two_extensions_the_first_in_load_order_counts() -> None:
    theatre = Theatre()
    async with open_ext(theatre=theatre, name="late", rank=1), open_ext(theatre=theatre, name="early", rank=0):
        assert [(it.name, it.extension) for it in theatre.roster.commands] == [("Do", "early")]
    assert len(theatre.roster.commands) == 1


async def test_a_surface_that_fails_brings_down_no_extension(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_args: Any) -> None:
        raise OSError("the screen is gone")

    theatre = Theatre()
    for name in ("note", "clear_notes", "panel", "panel_close", "submit"):
        monkeypatch.setattr(theatre.screen, name, fail)
    frames = [NOTE, {"type": "clear_notes"}, {"type": "open_panel", "panel": PANEL}, {"type": "submit", "text": "x"}]
    async with open_ext(theatre=theatre) as extension:
        monkeypatch.setattr(theatre.roster, "_offer", fail)
        late = {"type": "register_tool", "name": "late"}
        assert await told(extension, "say", frames=[*frames, late]) == "after"
        theatre.roster.dismiss_panel()
        assert await told(extension, "where")
