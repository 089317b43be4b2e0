"""The body of a request as a message: of our own shape, or any JSON, which may be a CloudEvent. Pure: knows neither
who has signed it nor who is heard.

What stands in a header is signed by nobody: of a CloudEvent in binary mode there is its data alone.
"""

from __future__ import annotations

import re
from base64 import b64decode
from collections.abc import Mapping
from typing import Any, cast

from hookgate.channels.platforms.message import clean
from hookgate.channels.webhook.settings import Rules
from hookgate.protocol.chat.media import Inline, inline
from hookgate.protocol.codec import decode, encode, indented
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage

OWN = "hookgate."
"""How the types of events begin that are a gateway's."""
EVENTS = "(events)"
"""The chat of what a channel is told besides; nobody else writes there."""
SENDER = "webhook"
"""Who writes, where nobody is named."""
CHAT = "events"
"""Where that is, of what is no message of our own shape. Its sender is not alone there: nobody can decide in their
name, who takes part by events alone."""
MEMBERS = ("text", "chat", "sender", "thread", "media")
MAX_NAME, MAX_MEDIA = 200, 10
MAX_NUMBER = 10**18
MOST_INDENTED = 16_000
"""Bytes; of more, what nests deeply would grow out of all bounds."""


class Unreadable(Exception):
    """It is no message; the text says why, for whoever has sent it."""


@dataclass(frozen=True, slots=True)
class WebhookMessage:
    """`media`: files that the message holds. `foreign`: of no shape of ours, so what stands in it says not that its
    sender is alone in that chat."""

    text: str
    chat: str = ""
    sender: str = SENDER
    thread: str = ""
    media: tuple[Inline, ...] = ()
    foreign: bool = False


def read(body: bytes, headers: Mapping[str, str], rules: Rules) -> WebhookMessage:
    """Raises Unreadable."""
    value, is_event = _read(body, headers)
    if not (rules.text_from or rules.chat_from or is_event) and (own := _own(value)) is not None:
        return own
    chat = _named("chat_from", _at(value, rules.chat_from)) if rules.chat_from else CHAT
    return WebhookMessage(_text(_at(value, rules.text_from)), chat, foreign=True)


# --- any JSON ---


def _read(body: bytes, headers: Mapping[str, str]) -> tuple[object, bool]:
    """What it says, and whether that is a CloudEvent."""
    type_ = headers.get("content-type", "")
    if "ce-specversion" in headers:
        _check_version(headers["ce-specversion"])
        return {"data": _data(body, type_)}, True
    if type_.startswith("application/cloudevents-batch"):
        raise Unreadable("a batch of events is not taken: send each for itself")
    value: object = _json(body)
    members = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    if "specversion" in members:
        return _structured(members), True
    return cast("object", value), False


def _structured(event: dict[str, Any]) -> dict[str, Any]:
    _check_version(event["specversion"])
    for name in ("id", "source", "type"):
        if not isinstance(event.get(name), str) or not event[name]:
            raise Unreadable(f"an event has to have {name}")
    if event["type"].startswith(OWN):
        raise Unreadable("what a gateway has said is no message to one: they would talk for ever")
    held = event.get("data_base64")
    if not isinstance(held, str):
        return event
    try:
        data = _data(b64decode(held, validate=True), str(event.get("datacontenttype", "")))
    except ValueError:
        raise Unreadable("data_base64 is no base64") from None
    return {**{name: it for name, it in event.items() if name != "data_base64"}, "data": data}


def _check_version(version: object) -> None:
    if version != "1.0":
        raise Unreadable("events of CloudEvents 1.0 are taken, and no others")


def _data(body: bytes, type_: str) -> object:
    if not type_.startswith("text/"):
        return _json(body) if body else None
    try:
        return body.decode()
    except UnicodeDecodeError:
        raise Unreadable("the text is not UTF-8") from None


def _json(body: bytes) -> object:
    try:
        return decode(body)
    except (BadMessage, UnicodeDecodeError) as error:
        raise Unreadable(f"no JSON: {str(error)[:200]}") from None


_MISSING = object()


def _at(value: object, pointer: str) -> object:
    """What a JSON pointer means (RFC 6901)."""
    for token in pointer.split("/")[1:]:
        name = token.replace("~1", "/").replace("~0", "~")
        match value:
            case dict():
                value = cast("dict[str, object]", value).get(name, _MISSING)
            case list() if re.fullmatch(r"0|[1-9][0-9]{0,6}", name):
                items = cast("list[object]", value)
                value = items[int(name)] if int(name) < len(items) else _MISSING
            case _:
                value = _MISSING
    if value is _MISSING:
        raise Unreadable(f"there is nothing at {pointer}")
    return value


def _text(value: object) -> str:
    """A text as it stands. What others have written into an event is no command of whoever has sent that: where it
    looks like one, it is quoted, as whatever is no text."""
    if isinstance(value, str):
        text = clean(value)
        if not text:
            raise Unreadable("the text is empty")
        return _block(text) if text.startswith("/") else text
    compact = encode(value)
    return _block((indented(value) if len(compact) <= MOST_INDENTED else compact).decode(), "json")


def _block(text: str, language: str = "") -> str:
    longest = max((len(it) for it in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}\n{fence}"


# --- our own shape ---


def _own(value: object) -> WebhookMessage | None:
    """None: it is of another one."""
    members = cast("dict[str, object]", value) if isinstance(value, dict) else {}
    if "text" not in members and "media" not in members:
        return None
    if strange := next((it for it in members if it not in MEMBERS), ""):
        others = "text_from in the channel's configuration says where other JSON has its text"
        raise Unreadable(f"{strange[:80]!r} is no member of a message ({', '.join(MEMBERS)}); {others}")
    members = {name: it for name, it in members.items() if it is not None}
    text = members.get("text", "")
    if not isinstance(text, str):
        raise Unreadable("text has to be a text")
    media = _media(members.get("media", []))
    if not (text := clean(text)) and not media:
        raise Unreadable("the message is empty")
    sender = _named("sender", members.get("sender", SENDER))
    thread = _named("thread", members["thread"]) if members.get("thread", "") != "" else ""
    return WebhookMessage(text, _named("chat", members.get("chat", sender)), sender, thread, media)


def _named(member: str, value: object) -> str:
    is_number = isinstance(value, int) and not isinstance(value, bool) and abs(value) < MAX_NUMBER
    name = str(value) if is_number or isinstance(value, str) else ""
    if not 0 < len(name) <= MAX_NAME or not name.isprintable() or name == EVENTS:
        raise Unreadable(f"{member} has to be a name of at most {MAX_NAME} printable characters")
    return name


def _media(value: object) -> tuple[Inline, ...]:
    urls = cast("list[object]", value) if isinstance(value, list) else [value]
    files = [inline(it) if isinstance(it, str) else None for it in urls]
    if len(files) > MAX_MEDIA or None in files:
        raise Unreadable(f"media has to be a list of at most {MAX_MEDIA} data: URLs in base64")
    return tuple(it for it in files if it is not None)
