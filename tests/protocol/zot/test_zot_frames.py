"""Frames of extensions: every member read, what counts as absent, and what is refused."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.protocol.errors import BadMessage
from hookgate.protocol.zot.frames import (
    Block,
    ClearNotes,
    ClosePanel,
    CommandReply,
    Frame,
    Hello,
    InterceptReply,
    Notify,
    OpenPanel,
    Panel,
    Ready,
    RegisterCommand,
    RegisterTool,
    RenderPanel,
    ShutdownAck,
    Submit,
    SubmitSlash,
    Subscribe,
    ToolReply,
    ToolUnwanted,
    ToolWanted,
    Unknown,
)
from hookgate.protocol.zot.reading import read_frame

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}}
FRAMES: list[tuple[dict[str, Any], Frame]] = [
    ({"type": "hello", "name": "w", "version": "1"}, Hello("w", "1")),
    ({"type": "hello", "name": "w", "capabilities": ["tool_cancel"]}, Hello("w", "", frozenset({"tool_cancel"}))),
    ({"type": "register_command", "name": "Note", "description": "d"}, RegisterCommand("Note", "d")),
    ({"type": "register_command", "name": "/note"}, RegisterCommand("note")),
    ({"type": "register_tool", "name": "w", "description": "d", "schema": SCHEMA}, RegisterTool("w", "d", SCHEMA)),
    ({"type": "register_tool", "name": "w"}, RegisterTool("w", "", {"type": "object"})),
    ({"type": "register_tool", "name": "w", "schema": None}, RegisterTool("w", "", {"type": "object"})),
    ({"type": "ready"}, Ready()),
    ({"type": "subscribe"}, Subscribe()),
    (
        {"type": "subscribe", "events": ["turn_end"], "intercept": ["tool_call"]},
        Subscribe(frozenset({"turn_end"}), frozenset({"tool_call"})),
    ),
    ({"type": "event_intercept_response", "id": "1"}, InterceptReply("1")),
    ({"type": "event_intercept_response", "id": "1", "block": True, "reason": "r"}, InterceptReply("1", True, "r")),
    (
        {"type": "event_intercept_response", "id": "1", "modified_args": {"a": 1}, "replace_text": "t"},
        InterceptReply("1", modified_args={"a": 1}, replace_text="t"),
    ),
    ({"type": "event_intercept_response", "id": "1", "modified_args": {}}, InterceptReply("1", modified_args={})),
    (
        {"type": "event_intercept_response", "id": "1", "system_prompt": ""},
        InterceptReply("1", system_prompt=""),
    ),
    (
        {"type": "event_intercept_response", "id": "1", "block": None, "reason": False, "modified_args": None},
        InterceptReply("1"),
    ),
    *(
        (
            {"type": "event_intercept_response", "id": "1", "block": True, "modified_args": args},
            InterceptReply("1", True, problem=f"modified_args must be an object, not {kind}"),
        )
        for args, kind in (
            ("ls", "a string"),
            ("", "a string"),
            (False, "a boolean"),
            ([], "an array"),
            (7, "a number"),
        )
    ),
    ({"type": "tool_result", "id": "1", "content": []}, ToolReply("1")),
    ({"type": "tool_result", "id": "1"}, ToolReply("1")),
    (
        {"type": "tool_result", "id": "1", "content": [{"type": "text", "text": "x"}, {}], "is_error": True},
        ToolReply("1", (Block("text", "x"), Block("")), True),
    ),
    (
        {"type": "tool_result", "id": "1", "content": [{"type": "image", "mime_type": "image/gif", "data": "AA=="}]},
        ToolReply("1", (Block("image", "", "image/gif", "AA=="),)),
    ),
    ({"type": "command_response", "id": "1"}, CommandReply("1")),
    (
        {"type": "command_response", "id": "1", "action": "prompt", "prompt": "p", "error": "e"},
        CommandReply("1", "prompt", prompt="p", error="e"),
    ),
    (
        {"type": "command_response", "id": "1", "action": "open_panel", "open_panel": {"id": "p", "title": "t"}},
        CommandReply("1", "open_panel", panel=Panel("p", "t")),
    ),
    (
        {"type": "open_panel", "panel": {"id": "p", "lines": ["a", ""], "footer": "f"}},
        OpenPanel(Panel("p", "", ("a", ""), "f")),
    ),
    ({"type": "panel_render", "panel_id": "p", "lines": ["a"]}, RenderPanel(Panel("p", "", ("a",)))),
    ({"type": "panel_close", "panel_id": "p"}, ClosePanel("p")),
    ({"type": "notify", "level": "warn", "message": "m"}, Notify("warn", "m")),
    ({"type": "notify", "level": "fatal", "message": "m"}, Notify("info", "m")),
    ({"type": "notify", "message": "m"}, Notify("info", "m")),
    ({"type": "clear_notes"}, ClearNotes()),
    ({"type": "submit", "text": "  go \n"}, Submit("go")),
    ({"type": "submit", "text": " "}, Submit("")),
    ({"type": "shutdown_ack"}, ShutdownAck()),
    ({"type": "submit_slash", "text": " /go on "}, SubmitSlash("/go on")),
    ({"type": "call_tool", "id": "1", "name": "x", "args": {"a": 1}}, ToolWanted("1", "x", {"a": 1})),
    ({"type": "call_tool", "id": "1", "args": [], "parent_id": "7"}, ToolWanted("1", "", None, "7")),
    ({"type": "call_tool_cancel", "id": "1"}, ToolUnwanted("1")),
    ({"type": "theme", "id": "1"}, Unknown("theme")),
    ({}, Unknown("")),
]


@pytest.mark.parametrize(("members", "frame"), FRAMES)
def test_a_frame_is_read_and_members_it_does_not_know_are_ignored(members: dict[str, Any], frame: Frame) -> None:
    assert read_frame(members) == frame
    assert read_frame({**members, "later": {"x": 1}}) == frame


@pytest.mark.parametrize(
    ("members", "reason"),
    [
        ({"type": 7}, "type must be a string, not a number"),
        ({"type": "hello"}, "name is missing"),
        ({"type": "hello", "name": ""}, "name is missing"),
        ({"type": "hello", "name": "w", "capabilities": "tools"}, "capabilities must be an array, not a string"),
        ({"type": "hello", "name": "w", "capabilities": [1]}, "capabilities must hold strings, not a number"),
        ({"type": "register_command"}, "name is missing"),
        ({"type": "register_tool", "name": "w", "schema": '{"type":"object"}'}, "schema must be an object"),
        ({"type": "register_tool", "name": "w", "schema": [1]}, "schema must be an object, not an array"),
        ({"type": "register_tool", "name": ["w"]}, "name must be a string, not an array"),
        ({"type": "subscribe", "intercept": "tool_call"}, "intercept must be an array, not a string"),
        (
            {"type": "event_intercept_response", "id": "1", "block": "yes"},
            "block must be true or false, not a string",
        ),
        ({"type": "event_intercept_response", "id": "1", "block": 1}, "block must be true or false, not a number"),
        ({"type": "event_intercept_response", "id": "1", "Block": True}, "'Block' must be written 'block'"),
        ({"type": "event_intercept_response", "id": "1", "system_prompt": 5}, "system_prompt must be a string"),
        ({"type": "event_intercept_response", "id": "1", "system_prompt": False}, "system_prompt must be a string"),
        ({"type": "tool_result", "id": "1", "content": "text"}, "content must be an array, not a string"),
        ({"type": "tool_result", "id": "1", "content": ["text"]}, "content must hold objects, not a string"),
        ({"type": "tool_result", "id": "1", "content": [{"type": "text", "text": 1}]}, "text must be a string"),
        ({"type": "tool_result", "id": "1", "content": [], "is_error": 1}, "is_error must be true or false"),
        ({"type": "command_response", "id": "1", "open_panel": {"title": "t"}}, "id is missing"),
        ({"type": "open_panel"}, "panel is missing"),
        ({"type": "panel_render", "lines": []}, "panel_id is missing"),
        ({"type": "panel_render", "panel_id": "p", "lines": [1]}, "lines must hold strings"),
        ({"type": "notify", "level": "warn"}, "message is missing"),
    ],
)
def test_a_member_of_the_wrong_type_or_a_missing_one_is_named(members: dict[str, Any], reason: str) -> None:
    with pytest.raises(BadMessage, match=reason):
        read_frame(members)
