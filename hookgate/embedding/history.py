"""A transcript as it is shown, and which of its results are errors: what a transcript itself does not keep."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

from hookgate.loop.sessions.transcript import NO_RESULT, NOT_RUN
from hookgate.protocol.interfaces import Redactor
from hookgate.protocol.journal.values import Entry
from hookgate.protocol.rpc.blocks import Block, CallBlock, ResultBlock, Text, message_content
from hookgate.protocol.rpc.responses import TranscriptMessage
from hookgate.protocol.values import JsonObject, Message


class History:
    """Messages are known by identity: the same words may be said twice."""

    def __init__(self) -> None:
        # The message itself is kept, so that its identity is not given to another.
        self._known: dict[int, Message] = {}
        self._failed: set[int] = set()
        # Calls whose results are to come, as errors.
        self._cut_off: set[str] = set()

    def follow(self, messages: Sequence[Message]) -> None:
        """What has come by now; what is gone is forgotten."""
        newest = messages[-1] if messages else None
        if len(messages) == len(self._known) and (newest is None or id(newest) in self._known):
            return
        before, self._known = self._known, {id(it): it for it in messages}
        self._failed &= self._known.keys()
        for it in messages:
            if it.tool_call_id in self._cut_off and id(it) not in before:
                self._cut_off.discard(it.tool_call_id)
                self._failed.add(id(it))

    def failed(self, call_id: str, messages: Sequence[Message]) -> None:
        """The result of this call is an error; it may not be among the messages yet."""
        if messages and messages[-1].tool_call_id == call_id:
            self._failed.add(id(messages[-1]))
        else:
            self._cut_off.add(call_id)

    def begin(self) -> None:
        """Another turn, whose calls may have the ids of those before."""
        self._cut_off.clear()

    def shown(self, entries: Sequence[Entry], redactor: Redactor) -> tuple[TranscriptMessage, ...]:
        self.follow([it.message for it in entries])
        return tuple(self._shown(it.message, it.at, redactor) for it in entries)

    def _shown(self, message: Message, at: float, redactor: Redactor) -> TranscriptMessage:
        cut_off = message.role == "tool" and message.content in (NO_RESULT, NOT_RUN)
        is_error = cut_off or id(message) in self._failed
        content = message_content(message, is_error=is_error)
        if message.role != "user":
            content = tuple(redacted(block, redactor) for block in content)
        return TranscriptMessage(message.role, content, rfc3339(at))


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


def rfc3339(at: float) -> str:
    """UTC, microseconds."""
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")
