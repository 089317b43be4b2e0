"""One conversation's messages. History grows, but for a rollback and for the head that is summed up."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hookgate.protocol.values import Message

NO_RESULT = "No result: the turn ended before this call did. It may have run."
"""Nobody knows here whether it had begun; a model that is told it had not would run it again."""


CHARACTERS_PER_TOKEN = 4
TOKENS_PER_PICTURE = 1500


class Transcript:
    """Whatever ends a turn, `messages` is one that a model endpoint accepts."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)
        self._gone = 0
        self._measured, self._measured_at = 0, 0

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, message: Message) -> None:
        self._messages.append(message)

    @property
    def position(self) -> int:
        """Where the next message goes; a summary of what stands before does not move it."""
        return len(self._messages) + self._gone

    def rollback(self, position: int) -> None:
        """Forget everything from `position` on. What has been summed up by then cannot be taken back."""
        del self._messages[max(position - self._gone, min(self._gone, 1)) :]

    def replace_head(self, length: int, summary: Message) -> None:
        """One message for the first `length`."""
        self._messages[:length] = [summary]
        self._gone += length - 1
        self._measured, self._measured_at = 0, 0

    def measure(self, tokens: int) -> None:
        """What the model counted for everything up to here, the last reply included."""
        self._measured, self._measured_at = tokens, len(self._messages)

    @property
    def tokens(self) -> int:
        """What the model would count now: as it last did, and an estimate for what has come since."""
        return self._measured + sum(_tokens(message) for message in self._messages[self._measured_at :])

    def repair(self) -> None:
        """Give every tool call that has no result one that says so."""
        self._messages = list(repaired(self._messages))


def _tokens(message: Message) -> int:
    arguments = sum(len(call.name) + len(call.arguments) for call in message.tool_calls)
    return (len(message.content) + arguments) // CHARACTERS_PER_TOKEN + TOKENS_PER_PICTURE * len(message.media) + 4


def repaired(messages: Iterable[Message]) -> Iterator[Message]:
    """Each tool call is followed by exactly one result: missing ones are made, orphans are left out."""
    waiting: list[str] = []
    for message in messages:
        if message.role == "tool":
            if message.tool_call_id in waiting:
                waiting.remove(message.tool_call_id)
                yield message
            continue
        yield from _unanswered(waiting)
        waiting = [call.id for call in message.tool_calls]
        yield message
    yield from _unanswered(waiting)


def _unanswered(call_ids: Iterable[str]) -> Iterator[Message]:
    for call_id in call_ids:
        yield Message("tool", NO_RESULT, tool_call_id=call_id)
