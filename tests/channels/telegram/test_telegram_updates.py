"""What updates mean: who says what where, and whether it is for the bot."""

from __future__ import annotations

from typing import Any

import pytest

from hookgate.channels.platforms.asking import Pressed
from hookgate.channels.platforms.message import Attachment, PlatformMessage, Skipped, named
from hookgate.channels.telegram.incoming.updates import (
    Heard,
    Moved,
    Reader,
    joined,
)
from hookgate.channels.telegram.wire import Me
from hookgate.protocol.chat import Chat
from tests.channels.telegram.fake import ANN, ME

READER = Reader("tg", Me.model_validate(ME))
GROUP = {"id": -1005, "type": "supergroup", "title": "Ops"}
PRIVATE = {"id": 7, "type": "private"}
BOTS_OWN = {"message_id": 1, "date": 0, "chat": GROUP, "from": ME, "text": "mine"}
BOBS = {"message_id": 1, "date": 0, "chat": GROUP, "from": {"id": 8, "is_bot": False, "first_name": "B]ob\u202e"}}


def read(text: str = "hi", chat: dict[str, Any] = GROUP, **more: Any) -> Heard:
    message = {"message_id": 5, "date": 1, "chat": chat, "from": ANN, "text": text, **more}
    return READER.read({"update_id": 9, "message": message})


def said(**more: Any) -> PlatformMessage:
    found = read(**more)
    assert isinstance(found, PlatformMessage), found
    return found


def span(type_: str, offset: int, length: int, **more: Any) -> dict[str, Any]:
    return {"type": type_, "offset": offset, "length": length, **more}


def test_a_private_message_is_meant_for_the_bot() -> None:
    assert said(chat=PRIVATE) == PlatformMessage(Chat("tg", "7", "7", "direct"), "hi", "5")


@pytest.mark.parametrize(
    ("text", "more", "mentioned", "shown"),
    [
        ("hi", {}, False, "hi"),
        ("@gate_bot hi", {"entities": [span("mention", 0, 9)]}, True, "hi"),
        ("😀 @Gate_Bot hi", {"entities": [span("mention", 3, 9)]}, True, "😀 @Gate_Bot hi"),
        ("@gate_bots hi", {"entities": [span("mention", 0, 10)]}, False, "@gate_bots hi"),
        ("Gate, hi", {"entities": [span("text_mention", 0, 4, user=ME)]}, True, ", hi"),
        ("@gate_bot in code", {"entities": [span("code", 0, 9)]}, False, "@gate_bot in code"),
        ("/stop@gate_bot now", {"entities": [span("bot_command", 0, 14)]}, True, "/stop now"),
        ("/stop", {"entities": [span("bot_command", 0, 5)]}, False, "/stop"),
        ("and you?", {"reply_to_message": BOTS_OWN}, True, "and you?"),
        ("in a topic", {"reply_to_message": {**BOTS_OWN, "forum_topic_created": {"name": "t"}}}, False, "in a topic"),
        ("so?", {"reply_to_message": {**BOBS, "text": "one\ntwo"}}, False, "[in reply to B)ob]\n> one\n> two\nso?"),
        ("", {"caption": "@gate_bot x", "caption_entities": [span("mention", 0, 9)]}, True, "x"),
        ("a\x00b\x1b[0m\u202ec\u200d", {}, False, "ab[0m\u202ec\u200d"),
    ],
)
def test_in_a_group_it_is_for_the_bot_when_it_is_named_replied_to_or_commanded(
    text: str, more: dict[str, Any], mentioned: bool, shown: str
) -> None:
    found = said(text=text, **more)
    assert (found.is_meant, found.text, found.chat.chat_type) == (mentioned, shown, "group")


@pytest.mark.parametrize(
    ("more", "thread"),
    [
        ({"message_thread_id": 4, "is_topic_message": True}, "4"),
        ({"message_thread_id": 4}, ""),
        ({"message_thread_id": 1, "is_topic_message": True}, ""),
    ],
)
def test_a_thread_is_a_topic_of_a_forum_alone(more: dict[str, Any], thread: str) -> None:
    assert said(**more).chat.thread == thread


SIZES = [{"file_id": "small", "file_size": 1}, {"file_id": "large", "file_size": 2, "width": 3}]


@pytest.mark.parametrize(
    ("more", "attachments", "text"),
    [
        ({"photo": SIZES}, (Attachment("large", "photo", "", 2),), ""),
        (
            {"document": {"file_id": "d", "file_name": "a\n].pdf"}},
            (Attachment("d", "file", "a ).pdf"),),
            "[file: a ).pdf]",
        ),
        ({"voice": {"file_id": "v", "duration": 3}}, (Attachment("v", "voice message"),), ""),
        ({"animation": {"file_id": "g"}, "document": {"file_id": "g"}}, (Attachment("g", "animation"),), ""),
        ({"sticker": {"file_id": "s", "emoji": "👍", "is_animated": True}}, (), "[sticker 👍]"),
        ({"location": {"latitude": 1.5, "longitude": 2.0}}, (), "[location: 1.500000, 2.000000]"),
        ({"contact": {"phone_number": "+1", "first_name": "Z"}}, (), "[contact: Z, +1]"),
    ],
)
def test_what_is_no_text_is_a_file_or_a_line(
    more: dict[str, Any], attachments: tuple[Attachment, ...], text: str
) -> None:
    found = said(text="", chat=PRIVATE, **more)
    assert (found.attachments, found.text) == (attachments, text)


@pytest.mark.parametrize(
    "raw",
    [
        None,
        [],
        {},
        {"update_id": "nine"},
        {"update_id": 9, "message": {"message_id": "5"}},
        {"update_id": 9, "message": {"message_id": 5, "chat": {"id": 1 << 60, "type": "private"}}},
        {"update_id": 9, "message": []},
        {"update_id": 9, "chat_boost": {}},
        {"update_id": 9, "callback_query": {"id": 7, "from": ANN}},
    ],
)
def test_what_cannot_be_read_is_skipped_and_odd(raw: object) -> None:
    found = READER.read(raw)
    assert isinstance(found, Skipped)
    assert found.odd


@pytest.mark.parametrize(
    "more",
    [
        {"from": {**ANN, "is_bot": True}},
        {"from": ME},
        {"sender_chat": GROUP},
        {"chat": {"id": -1, "type": "channel"}},
        {"text": "/stop@other_bot", "entities": [span("bot_command", 0, 15)]},
        {"text": "", "new_chat_title": "x"},
        {"text": "\u0000"},
    ],
)
def test_bots_anonymous_writers_and_service_messages_are_not_heard(more: dict[str, Any]) -> None:
    message = {"message_id": 5, "date": 1, "chat": GROUP, "from": ANN, "text": "hi", **more}
    found = READER.read({"update_id": 9, "message": message})
    assert isinstance(found, Skipped)
    assert not found.odd


def test_a_press_is_known_by_who_presses() -> None:
    message = {"message_id": 5, "date": 0, "chat": GROUP}
    query = {"id": "q", "from": ANN, "message": message, "chat_instance": "1", "data": "a:1"}
    assert READER.read({"update_id": 1, "callback_query": query}) == Pressed(
        "q", "a:1", "7", "Ann (7)", "-1005", "", "5"
    )


def test_a_group_that_moves_says_where() -> None:
    assert read(text="", migrate_to_chat_id=-100777) == Moved(-1005, -100777)


def test_an_album_is_one_message_with_the_caption_of_whichever_part_has_one() -> None:
    parts = [
        said(text="", chat=PRIVATE, photo=[{"file_id": f"{n}"}], media_group_id="m", message_id=n) for n in (12, 9)
    ]
    parts.append(said(text="", caption="all of them", chat=PRIVATE, photo=SIZES, media_group_id="m", message_id=10))
    whole = joined(tuple(parts))
    assert (whole.message_id, whole.text) == ("9", "all of them")
    assert [it.file_id for it in whole.attachments] == ["9", "large", "12"]
    assert len({it.album for it in parts}) == 1


def test_a_name_stays_one_short_line_without_what_cannot_be_seen() -> None:
    assert named("a\u202e\u200b\x07 \n[b]" + "c" * 200) == "a (b)" + "c" * 95 + "..."
