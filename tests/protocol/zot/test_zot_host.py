"""Lines to an extension: every frame as it stands on the wire, events within their limits."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hookgate.protocol.zot.blocks import result_members
from hookgate.protocol.zot.events import (
    EVENTS,
    MAX_LINE_BYTES,
    AssistantSaid,
    CompactionEnded,
    CompactionStarted,
    ConfirmationRequested,
    HostEvent,
    PermissionDecided,
    PromptSubmitted,
    Sent,
    SessionEnded,
    SessionStarted,
    StepEnded,
    StepStarted,
    ToolEnded,
    ToolProposed,
    event_line,
)
from hookgate.protocol.zot.host import (
    CallTool,
    CancelTool,
    CommandInvoked,
    HelloAck,
    HostFrame,
    InterceptAgentStart,
    InterceptAssistantMessage,
    InterceptToolCall,
    InterceptTurnStart,
    PanelClosed,
    PanelKey,
    Shutdown,
    ToolAnswer,
    line_of,
)

ACK = {
    "type": "hello_ack",
    "protocol_version": 1,
    "zot_version": "9",
    "provider": "p",
    "model": "m",
    "cwd": "/c",
    "extension_dir": "/e",
    "data_dir": "/e",
}
LINES: list[tuple[HostFrame, dict[str, Any]]] = [
    (HelloAck(1, "9", "p", "m", "/c", "/e", "/e"), ACK),
    (HelloAck(1, "", "", "", "", "", ""), {**ACK, **dict.fromkeys([*ACK][2:], "")}),
    (CommandInvoked("1", "note", "x"), {"type": "command_invoked", "id": "1", "name": "note", "args": "x"}),
    (CommandInvoked("1", "note"), {"type": "command_invoked", "id": "1", "name": "note"}),
    (CallTool("2", "w", {}), {"type": "tool_call", "id": "2", "name": "w", "args": {}}),
    (CancelTool("2"), {"type": "tool_cancel", "id": "2"}),
    (
        ToolAnswer("k", "ls", [{"type": "text", "text": "a"}]),
        {"type": "tool_result", "id": "k", "name": "ls", "content": [{"type": "text", "text": "a"}]},
    ),
    (
        ToolAnswer("k", "ls", [], is_error=True, truncated=True),
        {"type": "tool_result", "id": "k", "name": "ls", "content": [], "is_error": True, "truncated": True},
    ),
    (
        InterceptToolCall("3", "c", "bash", {"command": "ls"}),
        {
            "type": "event_intercept",
            "event": "tool_call",
            "id": "3",
            "tool_id": "c",
            "tool_name": "bash",
            "tool_args": {"command": "ls"},
        },
    ),
    (InterceptTurnStart("3", 1), {"type": "event_intercept", "event": "turn_start", "id": "3", "step": 1}),
    (
        InterceptAssistantMessage("3", "hi"),
        {"type": "event_intercept", "event": "assistant_message", "id": "3", "text": "hi"},
    ),
    (
        InterceptAgentStart("3", "", "s", "r", "/c", "p", "m"),
        {
            "type": "event_intercept",
            "event": "before_agent_start",
            "id": "3",
            "system_prompt": "",
            "session_id": "s",
            "agent_run_id": "r",
            "cwd": "/c",
            "provider": "p",
            "model": "m",
        },
    ),
    (PanelKey("p", "up"), {"type": "panel_key", "panel_id": "p", "key": "up"}),
    (PanelKey("p", "rune", "x"), {"type": "panel_key", "panel_id": "p", "key": "rune", "text": "x"}),
    (PanelClosed("p"), {"type": "panel_close", "panel_id": "p"}),
    (Shutdown(), {"type": "shutdown"}),
]


@pytest.mark.parametrize(("frame", "members"), LINES)
def test_a_frame_is_one_line_of_json(frame: HostFrame, members: dict[str, Any]) -> None:
    line = line_of(frame)
    assert json.loads(line) == members
    assert line.count(b"\n") == 1
    assert line.endswith(b"\n")


EVENT_LINES: list[tuple[HostEvent, dict[str, Any]]] = [
    (SessionStarted(), {"event": "session_start"}),
    (SessionEnded("shutdown"), {"event": "session_end", "reason": "shutdown"}),
    (PromptSubmitted("hi"), {"event": "user_prompt_submit", "text": "hi"}),
    (PromptSubmitted("", image_count=2), {"event": "user_prompt_submit", "image_count": 2}),
    (StepStarted(1), {"event": "turn_start", "step": 1}),
    (AssistantSaid("x"), {"event": "assistant_message", "text": "x"}),
    (
        ToolProposed("c", "bash", {}),
        {"event": "tool_call", "tool_id": "c", "tool_name": "bash", "tool_args": {}},
    ),
    (StepEnded("end"), {"event": "turn_end", "stop": "end"}),
    (StepEnded("error", "boom"), {"event": "turn_end", "stop": "error", "error": "boom"}),
    (
        ToolEnded("c", "bash", {"a": 1}, "completed", True, {"content": []}),
        {
            "event": "tool_result",
            "tool_id": "c",
            "tool_name": "bash",
            "tool_args": {"a": 1},
            "status": "completed",
            "executed": True,
            "result": {"content": []},
        },
    ),
    (
        ConfirmationRequested("c", "bash", "rm"),
        {"event": "tool_confirmation_requested", "tool_id": "c", "tool_name": "bash", "tool_preview": "rm"},
    ),
    (
        PermissionDecided("c", "bash", "denied", "user", "pre_execution", "no"),
        {
            "event": "permission_decision",
            "tool_id": "c",
            "tool_name": "bash",
            "decision": "denied",
            "source": "user",
            "stage": "pre_execution",
            "reason": "no",
        },
    ),
    (
        CompactionStarted("k", 9, 100),
        {"event": "pre_compact", "compaction_id": "k", "message_count": 9, "token_estimate": 100},
    ),
    (
        CompactionEnded("k", 5, 10, "completed"),
        {
            "event": "post_compact",
            "compaction_id": "k",
            "message_count": 5,
            "token_estimate": 10,
            "status": "completed",
        },
    ),
]


def test_every_event_that_can_be_subscribed_to_has_its_line() -> None:
    assert {members["event"] for _, members in EVENT_LINES} == EVENTS


@pytest.mark.parametrize(("event", "members"), EVENT_LINES)
def test_an_event_carries_its_session_its_number_and_what_was_lost_before_it(
    event: HostEvent, members: dict[str, Any]
) -> None:
    envelope = {"type": "event", "session_id": "s", "cwd": "/c", "sequence": 4}
    assert json.loads(event_line(Sent(event, "s", "/c", 4), 0)) == envelope | members
    assert json.loads(event_line(Sent(event, "", "", 4), 3)) == {
        "type": "event",
        "sequence": 4,
        "dropped": 3,
        **members,
    }


@pytest.mark.parametrize("text", ["x", "\0", "\U0001f600", "é"])
@pytest.mark.parametrize(
    "make",
    [
        AssistantSaid,
        PromptSubmitted,
        lambda text: StepEnded("error", text),
        lambda text: ToolProposed("c", "write", {"content": text}),
        lambda text: ConfirmationRequested("c", "write", text),
        lambda text: PermissionDecided("c", "write", "denied", "user", "pre_execution", text),
        lambda text: CompactionEnded("k", 1, 1, "failed", text),
        lambda text: ToolEnded("c", "write", {}, "failed", False, {}, text),
    ],
)
def test_an_event_too_long_for_a_line_is_shortened(make: Any, text: str) -> None:
    line = event_line(Sent(make(text * (MAX_LINE_BYTES + 1)), "s", "/c", 1), 0)
    assert len(line) <= MAX_LINE_BYTES
    assert json.loads(line)["event"] == make("x").event


def test_the_result_in_an_event_is_bounded_in_bytes_and_blocks() -> None:
    assert result_members("ok", (), is_error=False) == {
        "content": [{"type": "text", "text": "ok"}],
        "is_error": False,
    }
    picture = "data:image/png;base64,AA=="
    assert result_members("", (picture, "https://x/y.png"), is_error=True) == {
        "content": [{"type": "image", "mime_type": "image/png", "data": "AA=="}],
        "is_error": True,
    }
    long: Any = result_members("x" * 1_000_000, (picture,) * 200, is_error=False)
    assert long["truncated"] is True
    assert len(json.dumps(long["content"])) <= 256 * 1024
    many: Any = result_members("ok", (picture,) * 200, is_error=False)
    assert (len(many["content"]), many["truncated"]) == (128, True)
