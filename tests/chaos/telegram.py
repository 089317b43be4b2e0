"""Telegram under chaos and load: people with a private chat each."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from starlette.responses import Response

from tests.channels.telegram.fake import ANN, TOKEN, FakeTelegram, TooMany, open_fake, refusal
from tests.chaos.platform import Card, Read
from tests.chaos.unrest import Unrest

FIRST = 7
CONFLICTS = 0.1
SECTIONS = """\
[channels.{name}]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{url}"
allow = {allow}
"""


class Telegram:
    """`getUpdates` confirms nothing that was not heard, so what breaks off comes again by itself."""

    repeats = True
    socket = ""

    def __init__(self, chance: Random, chats: int, name: str, *, limited: bool) -> None:
        self.chats = tuple(str(FIRST + number) for number in range(chats))
        self.fake = FakeTelegram(limited=limited)
        self._name = name
        self.unrest = Unrest(self.fake.app, chance, _too_many, self._not_heard)
        self._chance, self._unheard = chance, set[str]()

    @property
    def sections(self) -> str:
        return SECTIONS.format(name=self._name, url=self.fake.url, allow=json.dumps(self.chats))

    @property
    def variables(self) -> dict[str, str]:
        return {"TELEGRAM_TOKEN": TOKEN}

    @property
    def wrong(self) -> list[str]:
        return self.fake.wrong

    def say(self, chat: str, text: str) -> None:
        self.fake.say(text, user=_user(chat))

    def read(self, chat: str) -> list[Read]:
        sent = [(_id(it), it) for it in self.fake.sent(int(chat))]
        return [Read(id_, it.get("text", ""), id_ not in self._unheard) for id_, it in sent]

    def standing(self) -> Iterable[str]:
        return [_id(it) for it in self.fake.messages.values() if it["from"]["is_bot"]]

    def record(self) -> Iterable[object]:
        return self.fake.calls

    def cards(self) -> list[Card]:
        return [Card(_id(it), it["text"]) for it in self.fake.messages.values() if "reply_markup" in it]

    def press(self, card: Card, *, allow: bool) -> None:
        chat, id_ = card.id.split("/")
        message = self.fake.messages[int(chat), int(id_)]
        self.fake.press(message, "Allow" if allow else "Deny", _user(chat))

    @property
    def acknowledged_ms(self) -> list[float]:
        return self.fake.confirmed_ms

    @property
    def refusals(self) -> int:
        return self.fake.refusals

    def refuse(self, seconds: float) -> None:
        self.fake.refusing_s = seconds

    async def disturb(self) -> None:
        """Somebody else receives with the same token, for a moment."""
        if self.fake.poll is not None and self._chance.random() < CONFLICTS:
            self.fake.poll.cancel()

    def _not_heard(self, body: bytes) -> None:
        result = json.loads(body).get("result")
        for it in result if isinstance(result, list) else [result]:
            if isinstance(it, dict) and "message_id" in it:
                self._unheard.add(_id(it))


def _id(message: dict[str, Any]) -> str:
    return f"{message['chat']['id']}/{message['message_id']}"


def _user(chat: str) -> dict[str, Any]:
    return {**ANN, "id": int(chat), "first_name": f"Person {chat}"}


def _too_many() -> Response:
    return refusal(TooMany(1))


@asynccontextmanager
async def open_telegram(
    chance: Random, chats: int = 6, *, name: str = "", limited: bool = False
) -> AsyncGenerator[Telegram]:
    telegram = Telegram(chance, chats, name or "telegram", limited=limited)
    async with open_fake(fake=telegram.fake, app=telegram.unrest):
        yield telegram
