"""A transcript as it is shown: without secrets, but for what people said."""

from __future__ import annotations

from collections.abc import Sequence

from hookgate.loop.sessions.transcript import NO_RESULT, NOT_RUN
from hookgate.protocol.codec import rfc3339
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.values import Entry
from hookgate.protocol.rpc.blocks import Block, CallBlock, ResultBlock, Text, message_content
from hookgate.protocol.rpc.responses import TranscriptMessage
from hookgate.protocol.values import JsonObject


def shown(entries: Sequence[Entry], redactor: Redactor) -> tuple[TranscriptMessage, ...]:
    return tuple(_shown(it, redactor) for it in entries)


def _shown(entry: Entry, redactor: Redactor) -> TranscriptMessage:
    message = entry.message
    # What was stored before results said whether they are errors has the words alone.
    content = message_content(message, is_error=message.is_error or message.content in (NO_RESULT, NOT_RUN))
    if message.role != "user":
        content = tuple(redacted(block, redactor) for block in content)
    return TranscriptMessage(message.role, content, timestamp(entry.at))


def timestamp(at: float) -> str:
    """When a message was said, in its event as in the transcript."""
    return rfc3339(at, "microseconds")


def redacted(block: Block, redactor: Redactor) -> Block:
    """As anybody may see it."""
    match block:
        case Text(text=text):
            return Text(redactor.text(text))
        case CallBlock():
            return CallBlock(block.id, redactor.text(block.name), redacted_object(block.args, redactor))
        case ResultBlock():
            inner = tuple(Text(redactor.text(it.text)) if isinstance(it, Text) else it for it in block.content)
            return ResultBlock(block.call_id, block.is_error, inner)
        case _:
            return block


def redacted_object(value: JsonObject, redactor: Redactor) -> JsonObject:
    seen = redactor.value(value)
    return seen if isinstance(seen, dict) else {}
