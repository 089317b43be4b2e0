"""Programs that talk to a gateway by webhooks: each a chat of its own, which hears of the answers at an address of
theirs. What they send goes to any gateway there is, again and again until one has it."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import AsyncGenerator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from random import Random
from time import monotonic, time
from typing import Any

import httpx
import trio

from hookgate.channels.webhook.signing import read_secret, signed
from tests.channels.webhook.receiver import SECRET, Sent, open_receiver
from tests.chaos.books import NOTICE
from tests.chaos.platform import Card, Read

NAME = "hooks"
SECTIONS = f"""\
[channels.{NAME}]
kind = "webhook"
secret_env = "HOOK_SECRET"
url = "{{url}}"
allow_private = true
"""
AGAIN_S, ANSWER_S = 0.2, 8.0
ANSWER, NOTE = "hookgate.message.answer", "hookgate.message.notice"
MARKS = {"notice": NOTICE, "error": NOTICE}


@dataclass
class Told:
    """An event as it came, maybe more than once: `at` is each time."""

    event: Any
    at: list[float] = field(default_factory=list[float])


class Webhooks:
    """`addresses`: where gateways are by now. `wrong`: what was seen to be."""

    repeats = False
    socket = ""

    def __init__(self, chance: Random, chats: int, addresses: Callable[[], Sequence[str]]) -> None:
        self.chats = tuple(f"c{number}" for number in range(chats))
        self.wrong = list[str]()
        self.told = dict[str, Told]()
        self.accepted = dict[str, str]()
        """What each message is called by the journal, by the webhook's own id."""
        self.refusals = 0
        self._by_chat, self._answers = defaultdict[str, list[Told]](list), dict[str, str]()
        self._chance, self._addresses = chance, addresses
        self._boxes = {it: trio.open_memory_channel[tuple[str, str]](10_000) for it in self.chats}
        self._numbers = defaultdict[str, int](int)
        self._read = 0
        self.url = ""
        self.sent: list[Sent] = []

    @property
    def sections(self) -> str:
        return SECTIONS.format(url=self.url)

    @property
    def variables(self) -> dict[str, str]:
        return {"HOOK_SECRET": SECRET}

    def say(self, chat: str, text: str) -> None:
        self._numbers[chat] += 1
        self._boxes[chat][0].send_nowait((f"{chat}-{self._numbers[chat]}-{text.replace(' ', '-')}", text))

    def press(self, card: Card, *, allow: bool) -> None:
        """By the same way as all else that is said there, and before it."""
        data = self.told[card.id].event["data"]
        command, chat = data["approve" if allow else "deny"], data["chat"]
        self._pressing.start_soon(self._post, chat, f"press-{self._chance.getrandbits(60):x}", command)

    def read(self, chat: str) -> list[Read]:
        self._take()
        said = (it for it in self._by_chat[chat] if it.event["type"].startswith("hookgate.message."))
        return [Read(it.event["id"], _marked(it.event), heard=True) for it in said]

    def standing(self) -> Iterable[str]:
        self._take()
        return list(self.told)

    def record(self) -> Iterable[object]:
        return [it.event for it in self.told.values()]

    def cards(self) -> list[Card]:
        self._take()
        over = {
            it.event["data"]["request"]["id"]
            for it in self.told.values()
            if "request" in it.event["data"] and not it.event["type"].endswith(".open")
        }
        questions = [it.event for it in self.told.values() if it.event["type"] == "hookgate.approval.open"]
        alive = [it for it in questions if it["data"]["request"]["id"] not in over]
        return [Card(it["id"], json.dumps(it["data"]["request"]["arguments"])) for it in alive]

    def doubles(self) -> list[Told]:
        """What came more than once, by the same key."""
        self._take()
        return [it for it in self.told.values() if len(it.at) > 1]

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Sends what they say."""
        # One for all, since making one takes longer than what it is made for; each post has a connection of its own.
        limits = httpx.Limits(max_connections=None, max_keepalive_connections=0)
        client = httpx.AsyncClient(timeout=ANSWER_S, limits=limits, trust_env=False)
        async with open_receiver() as receiver, client as self._client, trio.open_nursery() as self._pressing:
            self.url, self.sent = receiver.url, receiver.sent
            for chat in self.chats:
                self._pressing.start_soon(self._post_all, chat)
            yield
            self._pressing.cancel_scope.cancel()

    async def _post_all(self, chat: str) -> None:
        """One after the other, so that their order is known; nobody waits for answers."""
        async for key, text in self._boxes[chat][1]:
            await self._post(chat, key, text)

    async def _post(self, chat: str, key: str, text: str) -> None:
        body = json.dumps({"text": text, "sender": chat}).encode()
        while True:
            address = self._chance.choice(self._addresses())
            try:
                headers = signed([read_secret(SECRET)], key, int(time()), body)
                answer = await self._client.post(f"{address}/hooks/{NAME}", content=body, headers=headers)
            except httpx.TransportError:
                await trio.sleep(AGAIN_S)
                continue
            if answer.status_code == 202:
                self._acknowledged(key, answer.json()["id"])
                return
            self.refusals += 1
            if answer.status_code not in (429, 503):
                self.wrong.append(f"answered with {answer.status_code} {answer.text}: {text}")
                return
            await trio.sleep(AGAIN_S)

    def _acknowledged(self, key: str, id_: str) -> None:
        if self.accepted.setdefault(key, id_) != id_:
            self.wrong.append(f"acknowledged as {self.accepted[key]} and as {id_}: {key}")

    def _take(self) -> None:
        """What has come since."""
        for sent in self.sent[self._read :]:
            event = sent.event
            told = self.told.get(event["id"])
            if told is None:
                told = self.told[event["id"]] = Told(event)
                self._by_chat[event["data"]["chat"]].append(told)
                self._answered(event)
            elif told.event != event and event["type"] == told.event["type"]:
                self.wrong.append(f"came again as another one: {event} after {told.event}")
            told.at.append(monotonic())
        self._read = len(self.sent)

    def _answered(self, event: Any) -> None:
        """One answer to each message, whoever has made it, and each notice once."""
        answers = event["data"].get("in_reply_to")
        what = {ANSWER: answers, NOTE: f"{answers} {event['data'].get('text')}"}.get(event["type"])
        if what and (before := self._answers.setdefault(what, event["id"])) != event["id"]:
            self.wrong.append(f"answered twice, as {before} and as {event['id']}: {what}")


def _marked(event: Any) -> str:
    return MARKS.get(event["type"].rpartition(".")[2], "") + event["data"]["text"]


@asynccontextmanager
async def open_webhooks(
    chance: Random, chats: int, addresses: Callable[[], Sequence[str]]
) -> AsyncGenerator[Webhooks]:
    webhooks = Webhooks(chance, chats, addresses)
    async with webhooks.open():
        yield webhooks
