"""One conversation's messages. History only grows, but for the rollback of a turn that must not have happened."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from hookgate.protocol.values import Message

NO_RESULT = "No result: the turn ended before this call did. It may have run."
"""Nobody knows here whether it had begun; a model that is told it had not would run it again."""


class Transcript:
    """Whatever ends a turn, `messages` is one that a model endpoint accepts."""

    def __init__(self, messages: Iterable[Message] = ()) -> None:
        self._messages = list(messages)

    @property
    def messages(self) -> tuple[Message, ...]:
        return tuple(self._messages)

    def __len__(self) -> int:
        return len(self._messages)

    def append(self, message: Message) -> None:
        self._messages.append(message)

    def rollback(self, length: int) -> None:
        """Forget everything after the first `length` messages."""
        del self._messages[length:]

    def repair(self) -> None:
        """Give every tool call that has no result one that says so."""
        self._messages = list(repaired(self._messages))


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
