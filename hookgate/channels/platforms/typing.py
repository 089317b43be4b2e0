"""Shows that the bot is at work while a turn runs. Whatever goes wrong with that, nobody has to know."""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import trio

from hookgate.protocol.chat import Chat
from hookgate.protocol.chat.channel import Undelivered
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.events.event import Event
from hookgate.protocol.events.payloads import TurnEnd, TurnStart

OBSERVED = (TurnStart.kind, TurnEnd.kind)
LONGEST_S = 600.0
"""A turn that takes longer is no news any more."""


@dataclass
class _Turn:
    chat: Chat
    until: float
    at: float = 0.0


class Typing:
    """`show` raises Undelivered; what it shows lasts a little longer than `every_s`."""

    def __init__(self, channel: str, show: Callable[[Chat], Awaitable[object]], every_s: float) -> None:
        self._channel, self._show_in, self._every_s = channel, show, every_s
        self._turns: dict[str, _Turn] = {}
        self._begun = trio.Event()
        self._not_before = 0.0

    def hear(self, event: Event) -> None:
        """Turns of the channel's chats."""
        step = event.step
        if step is None or step.chat.channel != self._channel or step.parent_turn_id:
            return
        if isinstance(event.payload, TurnStart):
            self.begin(step.chat)
        elif isinstance(event.payload, TurnEnd):
            self.end(step.chat)

    def begin(self, chat: Chat) -> None:
        self._turns[chat.session_key] = _Turn(chat, trio.current_time() + LONGEST_S)
        self._begun.set()

    def end(self, chat: Chat) -> None:
        self._turns.pop(chat.session_key, None)

    async def run(self) -> None:
        """Until cancelled. One at a time: what is left of a budget is for messages."""
        while True:
            now = trio.current_time()
            for key, turn in list(self._turns.items()):
                if turn.until < now:
                    self.end(turn.chat)
                elif turn.at <= now >= self._not_before and key in self._turns:
                    turn.at = now + self._every_s
                    await self._show(turn.chat)
            next_at = min((it.at for it in self._turns.values()), default=now + LONGEST_S)
            with trio.move_on_at(max(next_at, self._not_before)):
                await self._begun.wait()
                self._begun = trio.Event()

    async def _show(self, chat: Chat) -> None:
        try:
            await self._show_in(chat)
        except Undelivered as error:
            self._not_before = trio.current_time() + (error.retry_after_s or self._every_s)
