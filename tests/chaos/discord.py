"""Discord under chaos and load: people with direct messages each, sessions that break off, end and repeat things."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from starlette.responses import Response

from tests.channels.discord.fake import ANN, DM, ME, TOKEN, FakeDiscord, open_fake, refused_with, too_many
from tests.chaos.platform import Card, Read
from tests.chaos.unrest import Unrest

SECTIONS = """\
[channels.{name}]
kind = "discord"
token_env = "DISCORD_TOKEN"
base_url = "{url}"
allow = {allow}
"""
FIRST = 700_000_000_000_000_100


class Discord:
    """It knows what was sent with the same nonce, so nothing stands there twice."""

    repeats = False

    def __init__(self, chance: Random, chats: int, name: str, *, limited: bool) -> None:
        self.chats = tuple(str(FIRST + 1_000 + number) for number in range(chats))
        self.fake = FakeDiscord(limits=limited, early=[])
        for chat in self.chats:
            self.fake.room({"id": chat, "type": DM, "recipients": [_user(chat)]})
        self.unrest = Unrest(self.fake.app, chance, _too_many, self._not_heard)
        self._name, self._chance, self._unheard = name, chance, set[str]()

    @property
    def sections(self) -> str:
        allow = json.dumps([_user(chat)["id"] for chat in self.chats])
        return SECTIONS.format(name=self._name, url=self.fake.url, allow=allow)

    @property
    def variables(self) -> dict[str, str]:
        return {"DISCORD_TOKEN": TOKEN}

    @property
    def socket(self) -> str:
        return self.fake.gateway

    @property
    def wrong(self) -> list[str]:
        return self.fake.wrong

    @property
    def acknowledged_ms(self) -> list[float]:
        """Nothing is acknowledged there: that it is stored shows in what the bot does next."""
        return self.fake.heard_ms

    @property
    def refusals(self) -> int:
        return self.fake.refusals

    def say(self, chat: str, text: str) -> None:
        self.fake.say(text, _user(chat), self.fake.rooms[chat])

    def read(self, chat: str) -> list[Read]:
        return [Read(it["id"], _plain(it["content"]), it["id"] not in self._unheard) for it in self.fake.sent(chat)]

    def standing(self) -> Iterable[str]:
        return [it["id"] for it in self.fake.messages.values() if it["author"]["id"] == ME["id"]]

    def record(self) -> Iterable[object]:
        return self.fake.calls

    def cards(self) -> list[Card]:
        return [Card(it["id"], it["content"]) for it in self.fake.messages.values() if it["components"]]

    def press(self, card: Card, *, allow: bool) -> None:
        message = self.fake.messages[card.id]
        self.fake.press(message, "Allow" if allow else "Deny", _user(message["channel_id"]))

    def refuse(self, seconds: float) -> None:
        self.fake.refusing_s = seconds

    async def disturb(self) -> None:
        self._chance.choice((self._ask_again, self._cut, self._forget, self._repeat))()

    def _ask_again(self) -> None:
        self.fake.raw({"op": 7, "d": None})

    def _cut(self) -> None:
        self.fake.hang_up(4000)

    def _forget(self) -> None:
        """Chats in which nothing was ever stored are not asked for what was missed."""
        if all(self.fake.sent(chat) for chat in self.chats):
            self.fake.hang_up(4009)
            self.fake.sessions.clear()

    def _repeat(self) -> None:
        for session in self.fake.listening:
            said = [it for it in session.sent if it["t"] == "MESSAGE_CREATE"]
            if said:
                self.fake.send(session, "MESSAGE_CREATE", self._chance.choice(said[-5:])["d"])

    def _not_heard(self, body: bytes) -> None:
        said = json.loads(body) if body else None
        if isinstance(said, dict) and "channel_id" in said:
            self._unheard.add(said["id"])


def _plain(text: str) -> str:
    return text.replace("\\", "")


def _user(chat: str) -> dict[str, Any]:
    return {**ANN, "id": str(int(chat) - 1_000), "username": f"person{chat}", "global_name": f"Person {chat}"}


def _too_many() -> Response:
    return refused_with(too_many(1.0), {})


@asynccontextmanager
async def open_discord(
    chance: Random, chats: int = 6, *, name: str = "", limited: bool = False
) -> AsyncGenerator[Discord]:
    discord = Discord(chance, chats, name or "discord", limited=limited)
    async with open_fake(fake=discord.fake, app=discord.unrest):
        yield discord
