"""RPC's frames: lines read as commands, events and responses as the JSON that clients know."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any, get_args

import pytest

from hookgate.protocol.rpc import commands, events
from hookgate.protocol.rpc.blocks import CallBlock, Image, ResultBlock, Text, message_content
from hookgate.protocol.rpc.commands import COMMANDS, Refused, Request, read_request
from hookgate.protocol.rpc.events import Spent, event_line, event_members
from hookgate.protocol.rpc.responses import failed, succeeded
from hookgate.protocol.values import Message, ProposedCall

SPENT = Spent(1, 2, 3, 4, 0.5)


@pytest.mark.parametrize(
    ("line", "command"),
    [
        ('{"type":"hello"}', commands.Hello()),
        ('{"type":"hello","token":null}', commands.Hello()),
        ('{"type":"prompt","message":"hi","images":null}', commands.Prompt("hi")),
        ('{"type":"prompt"}', commands.Prompt("")),
        ('{"type":"prompt","message":null}', commands.Prompt("")),
        ('{"type":"prompt","images":[{"data":"YQ=="}]}', commands.Prompt("", ("data:image/png;base64,YQ==",))),
        ('{"type":"set_model","model":"m"}', commands.SetModel("m")),
        ('{"type":"ext_command","name":"/x","args":"a b"}', commands.ExtCommand("x", "a b")),
        ('{"type":"approve","approval":"A1","approved":true}', commands.Approve("A1", True, "once", "")),
        ('{"type":"approve","approval":"A1","approved":1}', commands.Approve("A1", False, "once", "")),
        ('{"type":"approve","approval":"A1","approved":"true","grant":"session"}', None),
        (
            '{"type":"approve","approval":"A1","approved":true,"grant":"always"}',
            commands.Approve("A1", True, "always", ""),
        ),
        ('{"type":"ping","more":[1]}', commands.Ping()),
    ],
)
def test_a_line_is_read_as_its_command(line: str, command: commands.Command | None) -> None:
    expected = command or commands.Approve("A1", False, "session", "")
    assert read_request(line.encode()).command == expected


@pytest.mark.parametrize(
    ("line", "request_"),
    [
        ('{"type":"x","id":"7"}', Request("7", "x", Refused("unknown command"))),
        ('{"id":7}', Request(7, "", Refused("unknown command"))),
        ('{"type":"prompt","message":3}', Request(None, "prompt", Refused("message must be a string"))),
        ('{"type":"prompt","images":[3]}', Request(None, "prompt", Refused("images[0] must be an object"))),
        ('{"type":"hello","token":3}', Request(None, "hello", Refused("token must be a string"))),
        ("[]", Request(None, "", Refused("malformed json: not an object", malformed=True))),
        ('{"type":3}', Request(None, "", Refused("malformed json: type must be a string", malformed=True))),
    ],
)
def test_a_line_that_is_no_command_says_what_is_wrong(line: str, request_: Request) -> None:
    assert read_request(line.encode()) == request_


def test_every_command_can_be_read() -> None:
    read = {type(read_request(json.dumps({"type": name}).encode()).command) for name in COMMANDS}
    assert read == set(get_args(commands.Command))


@pytest.mark.parametrize(
    ("event", "members"),
    [
        (events.Done(), {"type": "done"}),
        (events.TurnEnd("end"), {"type": "turn_end", "stop": "end"}),
        (events.TurnEnd("error", "why"), {"type": "turn_end", "stop": "error", "error": "why"}),
        (events.ToolUseArgs("1", "{}"), {"type": "tool_use_args", "id": "1", "delta": "{}"}),
        (
            events.AssistantMessage((Text("a"), CallBlock("1", "ls", {})), "now"),
            {
                "type": "assistant_message",
                "content": [
                    {"type": "text", "text": "a"},
                    {"type": "tool_call", "id": "1", "name": "ls", "args": {}},
                ],
                "time": "now",
            },
        ),
        (
            events.ToolResult("1", False, (Image("image/png", 3),)),
            {
                "type": "tool_result",
                "id": "1",
                "is_error": False,
                "content": [{"type": "image", "mime_type": "image/png", "bytes": 3}],
            },
        ),
    ],
)
def test_an_event_is_the_json_that_clients_know(event: events.Event, members: dict[str, Any]) -> None:
    assert event_members(event) == members
    assert json.loads(event_line(event)) == members


def test_usage_is_always_numbers() -> None:
    members = event_members(events.UsageEvent(1, 2, 3, 4, 0.5, SPENT))
    assert members["cumulative"] == {"input": 1, "output": 2, "cache_read": 3, "cache_write": 4, "cost_usd": 0.5}
    assert {type(value) for value in members["cumulative"].values()} == {int, float}
    assert Spent() + SPENT == SPENT


def test_every_event_has_a_name_of_its_own() -> None:
    kinds = get_args(events.Event)
    assert len({kind.type for kind in kinds}) == len(kinds)
    assert all("type" not in {field.name for field in fields(kind)} for kind in kinds)


def test_a_message_of_the_transcript_is_shown_as_blocks() -> None:
    asked = Message("assistant", "so", (ProposedCall("1", "ls", '{"path": "."}'), ProposedCall("2", "ls", "{oops")))
    assert message_content(asked, is_error=False) == (
        Text("so"),
        CallBlock("1", "ls", {"path": "."}),
        CallBlock("2", "ls", {}),
    )
    result = Message("tool", "out", tool_call_id="1", media=("data:image/png;base64,YWI=", "http://x/y"))
    content = (Text("out"), Image("image/png", 2), Text("[attachment: http://x/y]"))
    assert message_content(result, is_error=True) == (ResultBlock("1", True, content),)


def test_responses_echo_the_id_and_leave_out_what_is_not_there() -> None:
    assert json.loads(succeeded(Request(None, "abort", commands.Abort()))) == {
        "type": "response",
        "command": "abort",
        "success": True,
    }
    assert json.loads(failed(Request(1.5, "x", Refused("no")), "no"))["id"] == 1.5
