"""Shows that the bot is at work while a turn runs. Whatever goes wrong with that, nobody has to know."""

from __future__ import annotations

from dataclasses import dataclass

import trio

from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.moves import Moves
from hookgate.protocol.chat import Chat

EVERY_S = 4.5
"""The platform shows it for five seconds."""
LONGEST_S = 600.0
"""A turn that takes longer is no news any more."""


@dataclass
class _Turn:
    chat: Chat
    until: float
    at: float = 0.0


class Typing:
    def __init__(self, api: Api, moves: Moves) -> None:
        self._api, self._moves = api, moves
        self._turns: dict[str, _Turn] = {}
        self._begun = trio.Event()
        self._not_before = 0.0

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
                    turn.at = now + EVERY_S
                    await self._show(turn.chat)
            next_at = min((it.at for it in self._turns.values()), default=now + LONGEST_S)
            with trio.move_on_at(max(next_at, self._not_before)):
                await self._begun.wait()
                self._begun = trio.Event()

    async def _show(self, chat: Chat) -> None:
        params: dict[str, object] = {"chat_id": self._moves.current(chat.chat_id), "action": "typing"}
        if chat.thread.isdecimal():
            params["message_thread_id"] = int(chat.thread)
        try:
            await self._api.call("sendChatAction", params)
        except ApiFailed as error:
            self._not_before = trio.current_time() + (error.retry_after_s or EVERY_S)
