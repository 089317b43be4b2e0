"""Bodies as messages, without HTTP: our own shape, any JSON, CloudEvents in both modes; and what is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hookgate.channels.webhook.reading import MEMBERS, Unreadable, WebhookMessage, read
from hookgate.channels.webhook.settings import Rules
from hookgate.protocol.chat.media import Inline
from tests.channels.webhook.asking_others import needs_others, others

EVENT = {"specversion": "1.0", "id": "1", "source": "/x", "type": "a.b", "data": {"message": "Disk full", "on": [7]}}
BINARY = {"ce-specversion": "1.0", "ce-id": "1", "ce-source": "/x", "ce-type": "a.b"}
JSON_TYPE = {"content-type": "application/json"}
FROM, NO_RULES = Rules("/data/message"), Rules()


def said(value: Any, rules: Rules = NO_RULES, headers: dict[str, str] | None = None) -> WebhookMessage:
    body = value if isinstance(value, bytes) else json.dumps(value).encode()
    return read(body, JSON_TYPE if headers is None else headers, rules)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"text": "hello"}, WebhookMessage("hello", "webhook")),
        ({"text": " /stop\n"}, WebhookMessage("/stop", "webhook")),
        ({"text": "hi", "sender": "ann", "thread": None}, WebhookMessage("hi", "ann", "ann")),
        ({"text": "hi", "chat": "ops", "sender": "ann", "thread": "t"}, WebhookMessage("hi", "ops", "ann", "t")),
        (
            {"media": ["data:text/plain;name=a.txt;base64,aGk="]},
            WebhookMessage("", "webhook", media=(Inline("text/plain", b"hi", "a.txt"),)),
        ),
    ],
)
def test_a_message_of_our_own_shape_says_what_it_says(value: object, message: WebhookMessage) -> None:
    assert said(value) == message


@pytest.mark.parametrize(
    ("value", "rules", "text"),
    [
        (EVENT, FROM, "Disk full"),
        (EVENT, Rules("/data/on/0"), "```json\n7\n```"),
        (EVENT, Rules("/data/on"), "```json\n[\n  7\n]\n```"),
        ({"a/b": {"~": ["x"]}}, Rules("/a~1b/~0/0"), "x"),
        ({"text": "hi", "attachments": []}, Rules("/text"), "hi"),
        ({"alert": "Disk full"}, Rules(), '```json\n{\n  "alert": "Disk full"\n}\n```'),
        ({"alert": "a ``` b"}, Rules(), '````json\n{\n  "alert": "a ``` b"\n}\n````'),
        ([1], Rules(), "```json\n[\n  1\n]\n```"),
        ("just words", Rules(), "just words"),
        ({"n": 2**70}, Rules(), '```json\n{"n":1180591620717411303424}\n```'),
        (EVENT, Rules(), f"```json\n{json.dumps(EVENT, indent=2)}\n```"),
    ],
)
def test_any_json_becomes_what_a_pointer_finds_or_a_block_of_code(value: object, rules: Rules, text: str) -> None:
    assert said(value, rules) == WebhookMessage(text, "events", foreign=True)


@pytest.mark.parametrize("text", ["/approve 1", "\n /new", "\u2003/stop"])
def test_what_others_have_written_into_an_event_is_never_a_command(text: str) -> None:
    event = {**EVENT, "data": {"message": text}}
    assert said(event, FROM).text == f"```\n{text.strip()}\n```"


def test_a_chat_of_its_own_for_each_incident_is_found_by_a_pointer() -> None:
    assert said({"text": "hi", "incident": 7}, Rules("/text", "/incident")) == WebhookMessage("hi", "7", foreign=True)
    assert said({"incident": "a b"}, Rules(chat_from="/incident")).chat == "a b"


@pytest.mark.parametrize(
    ("headers", "body", "text"),
    [
        (BINARY | JSON_TYPE, b'{"message": "Disk full"}', "Disk full"),
        (BINARY | {"content-type": "text/plain; charset=utf-8"}, "Straße".encode(), None),
        (BINARY | JSON_TYPE, b'{"message": "x", "specversion": "9"}', "x"),
    ],
)
def test_of_an_event_in_binary_mode_there_is_its_data_alone(
    headers: dict[str, str], body: bytes, text: str | None
) -> None:
    if text is None:
        assert read(body, headers, Rules("/data")).text == body.decode()
    else:
        assert read(body, headers, FROM).text == text
    with pytest.raises(Unreadable, match="there is nothing at /source"):
        read(body, headers, Rules("/source"))


def test_data_in_base64_is_read_by_its_type() -> None:
    event = {name: it for name, it in EVENT.items() if name != "data"}
    assert said({**event, "data_base64": "eyJtZXNzYWdlIjogIngifQ=="}, FROM).text == "x"
    assert said({**event, "data_base64": "aGk=", "datacontenttype": "text/plain"}, Rules("/data")).text == "hi"


@pytest.mark.parametrize(
    ("value", "rules", "why"),
    [
        (b"not JSON", Rules(), "no JSON"),
        (b"", Rules(), "no JSON"),
        (b'{"text": "\xff"}', Rules(), "no JSON"),
        (b'{"text": NaN}', Rules(), "no JSON"),
        (b"[" * 100_000, Rules(), "no JSON"),
        ({"text": "hi", "thred": "t"}, Rules(), "'thred' is no member of a message"),
        ({"text": 7}, Rules(), "text has to be a text"),
        ({"text": " \u0000"}, Rules(), "the message is empty"),
        ({"text": "x", "sender": ""}, Rules(), "sender has to be a name"),
        ({"text": "x", "chat": "a\nb"}, Rules(), "chat has to be a name"),
        ({"text": "x", "chat": "(events)"}, Rules(), "chat has to be a name"),
        ({"text": "x", "sender": "a" * 201}, Rules(), "sender has to be a name"),
        ({"text": "x", "thread": {}}, Rules(), "thread has to be a name"),
        ({"text": "x", "media": ["https://example.org/a.png"]}, Rules(), "media has to be"),
        ({"text": "x", "media": ["data:text/plain;base64,aGk="] * 11}, Rules(), "media has to be"),
        (EVENT, Rules("/data/massage"), "there is nothing at /data/massage"),
        (EVENT, Rules("/data/on/1"), "there is nothing at"),
        (EVENT, Rules("/data/on/-1"), "there is nothing at"),
        ({"text": ""}, Rules("/text"), "the text is empty"),
        ({"n": 10**30}, Rules(chat_from="/n"), "chat_from has to be"),
        ({**EVENT, "specversion": "0.3"}, Rules(), "CloudEvents 1.0"),
        ({**EVENT, "source": ""}, Rules(), "an event has to have source"),
        ({**EVENT, "type": "hookgate.message.answer"}, Rules(), "they would talk for ever"),
        ({**EVENT, "data_base64": "?"}, Rules(), "no base64"),
    ],
)
def test_what_is_no_message_is_refused_and_the_reason_said(value: object, rules: Rules, why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        said(value, rules)


SCALARS = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(["/new", "1.0", "a"])
NAMES = st.sampled_from([*MEMBERS, "data", "specversion", "id", "source", "type", "data_base64"])
JSON = st.recursive(
    SCALARS, lambda it: st.lists(it, max_size=4) | st.dictionaries(NAMES | st.text(), it, max_size=5), max_leaves=20
)


@given(
    JSON.map(lambda it: json.dumps(it).encode()) | st.binary(),
    st.sampled_from([{}, BINARY, BINARY | {"content-type": "text/x"}]),
    st.sampled_from([NO_RULES, FROM, Rules("/data"), Rules("/0", "/1"), Rules(chat_from="/text")]),
)
def test_whatever_comes_is_a_message_or_refused(body: bytes, headers: dict[str, str], rules: Rules) -> None:
    try:
        message = read(body, headers, rules)
    except Unreadable:
        return
    assert message.text or message.media
    assert message.chat
    assert rules == NO_RULES or not message.text.strip().startswith("/")


@pytest.mark.parametrize(
    ("headers", "why"),
    [
        ({"content-type": "application/cloudevents-batch+json"}, "a batch"),
        ({**BINARY, "ce-specversion": "0.3"}, "CloudEvents 1.0"),
        (BINARY | {"content-type": "text/plain"}, "not UTF-8"),
        (BINARY | {"content-type": "image/png"}, "no JSON"),
    ],
)
def test_headers_that_say_something_else_are_refused(headers: dict[str, str], why: str) -> None:
    with pytest.raises(Unreadable, match=why):
        read(b"\xff", headers, Rules())


@pytest.fixture
def _others() -> None:
    needs_others()


@pytest.mark.usefixtures("_others")
@pytest.mark.parametrize("structured", [True, False])
def test_events_that_others_write_are_read(structured: bool) -> None:
    attributes = {"type": "disk.full", "source": "/h", "datacontenttype": "application/json", "subject": "sda"}
    with others() as ask:
        headers, body = ask("write", structured=structured, attributes=attributes, data={"message": "Grüße"})
    assert read(body.encode(), headers, FROM).text == "Grüße"
