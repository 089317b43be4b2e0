"""The conversations of one open runtime: one a chat, begun when somebody first asks for it. Owns no process."""

from __future__ import annotations

from collections.abc import Callable

from hookgate.assembly.app import Runtime
from hookgate.embedding.conversation import Conversation, Seat, SeatChannel
from hookgate.loop.sessions.jobs import Jobs
from hookgate.protocol.chat import Chat, own_chat
from hookgate.protocol.events.event import Event

Enter = Callable[[Chat], tuple[Seat, Jobs]]
"""Who is at the other end of a chat that is asked for first, and its queue, which may hold work already."""


class Conversations:
    """`main`: of whoever names no chat."""

    def __init__(self, runtime: Runtime, channel: SeatChannel, enter: Enter) -> None:
        self._runtime, self._channel, self._enter = runtime, channel, enter
        self._open: dict[str, Conversation] = {}

    @property
    def main(self) -> Conversation:
        return self.of(own_chat(self._channel.name))

    def of(self, chat: Chat) -> Conversation:
        """That of this chat, whoever speaks in it."""
        key = chat.session_key
        if key not in self._open:
            seat, jobs = self._enter(chat)
            self._open[key] = Conversation(self._runtime, self._channel, seat, jobs)
        return self._open[key]

    def hear(self, told: Event) -> None:
        """Everything that the loop tells goes to the conversation that it is about."""
        conversation = self._open.get(told.step.session_key) if told.step is not None else None
        if conversation is not None:
            conversation.hear(told)
