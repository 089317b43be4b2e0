"""What events mean, whatever is in them."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.message import PlatformMessage, Skipped
from hookgate.channels.slack.incoming.events import Reader
from hookgate.channels.slack.wire import Me
from hookgate.protocol.chat import Chat

READER = Reader("sl", Me(user_id="U0BOT", bot_id="B0BOT", team_id="T1"))
TS = "1700000000.000100"


def read(**event: Any) -> Any:
    usual = {"type": "message", "channel": "C1", "channel_type": "channel", "user": "U1", "ts": TS, "text": "hello"}
    return READER.read("events_api", {"event": usual | event})


@pytest.mark.parametrize(
    ("text", "mentioned", "shown"),
    [
        ("hello", False, "hello"),
        ("<@U0BOT> hello", True, "hello"),
        ("<@U0BOT|gate>, /stop", True, "/stop"),
        ("hello <@U0BOT>", True, "hello @U0BOT"),
        ("<@U0BOTHER> hello", False, "@U0BOTHER hello"),
        ("<#C2|ops> <!here> <!subteam^S1|@team> <!date^1^x|today>", False, "#ops @here @team today"),
        (
            "<https://x.example/?a=1&amp;b=2|x> <https://y.example>",
            False,
            "x (https://x.example/?a=1&b=2) https://y.example",
        ),
        ("<mailto:a@b.example|a@b.example>", False, "a@b.example"),
        ("&lt;@U0BOT&gt; &amp;lt;", False, "<@U0BOT> &lt;"),
        ("a\u0000\u0007b\u200d", False, "ab\u200d"),
    ],
)
def test_marks_become_what_people_see(text: str, mentioned: bool, shown: str) -> None:
    said = read(text=text)
    assert (said.text, said.mentioned) == (shown, mentioned)


def test_where_it_is_said_is_its_conversation() -> None:
    assert read().chat == Chat("sl", "C1", "U1", "group", TS)
    assert read(thread_ts="1600000000.000000").chat.thread == "1600000000.000000"
    assert read(channel="D1", channel_type="im").chat == Chat("sl", "D1", "U1", "direct")
    assert read(channel="D1", channel_type="").chat.chat_type == "direct"
    assert read(channel="D1", channel_type="im", thread_ts=TS).chat.thread == TS
    assert read(channel="G1", channel_type="mpim").chat.chat_type == "group"
    assert read(thread_ts="1600000000.000000", parent_user_id="U0BOT").reply_to_bot


@pytest.mark.parametrize(
    "event",
    [
        {"ts": "now"},
        {"ts": None},
        {"channel": "../etc"},
        {"user": ["U1"]},
        {"text": {"a": 1}},
        {"files": [5]},
        {"user": None},
        {"user": "U0BOT"},
        {"bot_id": "B0OTHER"},
        {"bot_id": "B0BOT", "user": "U7"},
        {"subtype": "channel_topic"},
        {"subtype": "message_deleted"},
        {"text": ""},
        {"text": "\u0007"},
        {"type": "of tomorrow"},
        {"type": 7},
    ],
)
def test_what_is_none_is_skipped(event: dict[str, Any]) -> None:
    assert isinstance(read(**event), Skipped)


@pytest.mark.parametrize("kind", ["interactive", "slash_commands", "events_api", "hello"])
@pytest.mark.parametrize("payload", [{}, {"type": "block_actions"}, {"type": 5}, {"event": {}}, {"command": 1}])
def test_nothing_that_comes_is_raised(kind: str, payload: dict[str, Any]) -> None:
    assert isinstance(READER.read(kind, payload), Skipped)


def test_whoever_presses_is_known_by_their_id_whatever_they_are_called() -> None:
    payload = {
        "type": "block_actions",
        "user": {"id": "U9", "username": "An\u202en\u200b\n[op]"},
        "trigger_id": "t",
        "container": {"message_ts": TS, "channel_id": "C1", "thread_ts": "1600000000.000000"},
        "message": {"blocks": [{"type": "actions", "elements": [{"type": "button", "value": "a:1:no"}]}]},
        "actions": [{"type": "button", "action_id": "x", "value": "a:1:no"}],
    }
    where = ("C1", "1600000000.000000", TS)
    assert READER.read("interactive", payload) == Pressed("t", "a:1:no", "U9", "Ann (op) (U9)", *where, is_there=True)
    other = {**payload, "message": {"blocks": [{"elements": "none"}]}}
    assert READER.read("interactive", other) == Pressed("t", "a:1:no", "U9", "Ann (op) (U9)", *where)


def test_somebody_of_another_workspace_is_nobody_of_this_one() -> None:
    for others in ({"user_team": "T2", "team": "T1"}, {"source_team": "T2"}, {"team": "T2"}):
        assert read(**others).chat.sender == "T2.U1"
    assert read(user_team="T1", source_team="T1", team="T1").chat.sender == "U1"
    event = {"type": "message", "channel": "C1", "user": "U1", "ts": TS, "text": "hello"}
    told = READER.read("events_api", {"team_id": "T2", "event": event})
    assert isinstance(told, PlatformMessage)
    assert told.chat.sender == "T2.U1"
    typed = {"command": "/hookgate", "user_id": "U1", "channel_id": "C1", "trigger_id": "1.2", "team_id": "T2"}
    asked = READER.read("slash_commands", typed)
    assert isinstance(asked, PlatformMessage)
    assert asked.chat.sender == "T2.U1"
    button = {"type": "button", "action_id": "x", "value": "a:1:no"}
    done = {"type": "block_actions", "trigger_id": "t", "actions": [button]}
    for user, team in (({"id": "U9", "team_id": "T2"}, "T1"), ({"id": "U9"}, "T2")):
        pressed = READER.read("interactive", {**done, "user": user, "team": {"id": team}})
        assert isinstance(pressed, Pressed)
        assert (pressed.user, pressed.by) == ("T2.U9", "(T2.U9)")


def test_a_command_has_a_key_of_its_own() -> None:
    typed = {"command": "/hookgate", "text": " /stop ", "user_id": "U1", "channel_id": "D1", "trigger_id": "1.2"}
    chat = Chat("sl", "D1", "U1")
    assert READER.read("slash_commands", typed) == PlatformMessage(chat, "/stop", "command 1.2", mentioned=True)
