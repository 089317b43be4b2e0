"""Blocks of content as RPC shows them, made from messages of a transcript. Pictures are counted, never sent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from typing import Any, ClassVar, TypeAlias, cast

from hookgate.protocol.codec import decode
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.values import JsonObject, Message, ProposedCall, ToolResult, bare_text


@dataclass(frozen=True, slots=True)
class Text:
    type: ClassVar[str] = "text"
    text: str


@dataclass(frozen=True, slots=True)
class Image:
    """`bytes`: how many the picture has."""

    type: ClassVar[str] = "image"
    mime_type: str
    bytes: int


@dataclass(frozen=True, slots=True)
class CallBlock:
    type: ClassVar[str] = "tool_call"
    id: str
    name: str
    args: JsonObject


@dataclass(frozen=True, slots=True)
class ResultBlock:
    type: ClassVar[str] = "tool_result"
    call_id: str
    is_error: bool
    content: tuple[Text | Image, ...] = field(default_factory=tuple)


Block: TypeAlias = Text | Image | CallBlock | ResultBlock


def block_members(block: Block) -> dict[str, Any]:
    match block:
        case Text(text=text):
            return {"type": block.type, "text": text}
        case Image():
            return {"type": block.type, "mime_type": block.mime_type, "bytes": block.bytes}
        case CallBlock():
            return {"type": block.type, "id": block.id, "name": block.name, "args": block.args}
        case ResultBlock():
            content = [block_members(inner) for inner in block.content]
            return {"type": block.type, "call_id": block.call_id, "is_error": block.is_error, "content": content}


# --- from the values of a conversation ----------------------------------------------------------------------


def said(text: str, media: Iterable[str] = ()) -> tuple[Text | Image, ...]:
    """Text, if there is any, and what is attached to it."""
    return (*((Text(text),) if text else ()), *(_attached(url) for url in media))


def result_content(result: ToolResult) -> tuple[Text | Image, ...]:
    return said(bare_text(result), result.media)


def message_content(message: Message, *, is_error: bool) -> tuple[Block, ...]:
    """One message of a transcript; `is_error` is about the call that it answers."""
    content = said(message.content, message.media)
    if message.role == "tool":
        return (ResultBlock(message.tool_call_id, is_error, content),)
    return (*content, *(_proposed(call) for call in message.tool_calls))


def _proposed(call: ProposedCall) -> CallBlock:
    """Arguments that cannot be read are shown as none."""
    try:
        read = decode(call.arguments or "{}")
    except BadMessage:
        read = None
    return CallBlock(call.id, call.name, cast("JsonObject", read) if isinstance(read, dict) else {})


def _attached(url: str) -> Text | Image:
    head, comma, data = url.partition(",")
    if not comma or not head.startswith("data:"):
        return Text(f"[attachment: {url[:200]}]")
    mime_type = head.removeprefix("data:").removesuffix(";base64")
    return Image(mime_type, len(data) * 3 // 4 - data[-2:].count("="))
