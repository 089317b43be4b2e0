"""Slack under chaos and load: people with direct messages each, a socket that closes and events that come again."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from random import Random
from typing import Any

from starlette.responses import Response

from tests.channels.slack.fake import ANN, APP_TOKEN, TOKEN, FakeSlack, Refused, open_fake, refusal
from tests.chaos.platform import Card, Read
from tests.chaos.unrest import Unrest

SECTIONS = """\
[channels.{name}]
kind = "slack"
token_env = "SLACK_TOKEN"
app_token_env = "SLACK_APP_TOKEN"
base_url = "{url}"
allow = {allow}
"""
RATES = {"chat.postMessage": (3, 3.0)}
"""A message a second in each channel, and short bursts."""


class Slack:
    repeats = True

    def __init__(self, chance: Random, chats: int, name: str, *, limited: bool) -> None:
        self.chats = tuple(f"D0{number:04}" for number in range(chats))
        self.fake = FakeSlack(rates=dict(RATES) if limited else {})
        self.unrest = Unrest(self.fake.app, chance, _too_many, self._not_heard)
        self._name, self._chance, self._unheard = name, chance, set[str]()

    @property
    def sections(self) -> str:
        allow = json.dumps([_user(chat)["id"] for chat in self.chats])
        return SECTIONS.format(name=self._name, url=self.fake.url, allow=allow)

    @property
    def variables(self) -> dict[str, str]:
        return {"SLACK_TOKEN": TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}

    @property
    def socket(self) -> str:
        return self.fake.socket_url

    @property
    def wrong(self) -> list[str]:
        return self.fake.wrong

    @property
    def acknowledged_ms(self) -> list[float]:
        came = self.fake.came_at
        return [(at - came[id_]) * 1000 for id_, at in self.fake.acknowledged_at.items()]

    @property
    def refusals(self) -> int:
        return self.fake.refusals

    def say(self, chat: str, text: str) -> None:
        self.fake.say(text, _user(chat), chat)

    def read(self, chat: str) -> list[Read]:
        sent = [(f"{chat}/{it['ts']}", it["text"]) for it in self.fake.sent(chat)]
        return [Read(id_, text, id_ not in self._unheard) for id_, text in sent]

    def standing(self) -> Iterable[str]:
        return [f"{chat}/{ts}" for (chat, ts), it in self.fake.messages.items() if it.get("bot_id")]

    def record(self) -> Iterable[object]:
        return self.fake.calls

    def cards(self) -> list[Card]:
        every = [it for it in self.fake.messages.items() if _has_buttons(it[1])]
        return [Card(f"{chat}/{ts}", json.dumps(it)) for (chat, ts), it in every]

    def press(self, card: Card, *, allow: bool) -> None:
        chat, ts = card.id.split("/")
        self.fake.press(self.fake.messages[chat, ts], "Allow" if allow else "Deny", _user(chat), chat)

    def refuse(self, seconds: float) -> None:
        self.fake.refusing_s = int(seconds)

    async def disturb(self) -> None:
        await self._chance.choice((self.fake.disconnect, self.fake.cut, self.fake.again))()

    def _not_heard(self, body: bytes) -> None:
        said = json.loads(body)
        if "ts" in said and "channel" in said:
            self._unheard.add(f"{said['channel']}/{said['ts']}")


def _user(chat: str) -> dict[str, Any]:
    return {**ANN, "id": f"U{chat[1:]}", "name": f"person{chat}"}


def _has_buttons(message: dict[str, Any]) -> bool:
    return any(it["type"] == "actions" for it in message.get("blocks", ()))


def _too_many() -> Response:
    return refusal(Refused("ratelimited", 1))


@asynccontextmanager
async def open_slack(
    chance: Random, chats: int = 6, *, name: str = "", limited: bool = False
) -> AsyncGenerator[Slack]:
    slack = Slack(chance, chats, name or "slack", limited=limited)
    async with open_fake(fake=slack.fake, app=slack.unrest):
        yield slack
