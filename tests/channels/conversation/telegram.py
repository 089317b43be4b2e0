"""Ann in a private chat of Telegram's."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

from tests.channels.conversation.person import End, Line
from tests.channels.telegram.fake import TOKEN, FakeTelegram, open_fake
from tests.channels.telegram.test_telegram_incoming import photo

SECTION = """
[channels.telegram]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{url}"
allow = ["7"]
"""
ENDS: dict[str, End] = {"Allowed": "allowed", "Refused": "refused"}
_ENDED = re.compile(r"\S+ (Allowed|Refused) by Ann \(7\)\.$")


class TelegramPerson:
    def __init__(self, fake: FakeTelegram) -> None:
        self._fake = fake
        self.section = SECTION.format(url=fake.url)

    @property
    def problems(self) -> list[str]:
        return self._fake.wrong

    @asynccontextmanager
    async def at(self, address: str) -> AsyncGenerator[None]:
        del address
        yield

    async def says(self, text: str) -> None:
        self._fake.say(text)

    async def shows(self, picture: bytes, text: str) -> None:
        self._fake.say(photo=photo(self._fake, picture), caption=text)

    async def reads(self) -> list[Line]:
        return [_line(it) for it in self._fake.sent(7)]

    async def sees_buttons(self) -> None:
        await self._fake.until(lambda: "reply_markup" in self._fake.sent(7)[-1])

    async def presses(self, button: Literal["Allow", "Deny"]) -> None:
        self._fake.press(self._fake.sent(7)[-1], button)


def _line(message: dict[str, Any]) -> Line:
    text = message["text"]
    if not text.startswith("Run bash?"):
        return Line("answer", text)
    ended = _ENDED.search(text)
    return Line("question", "bash", ENDS[ended[1]] if ended else "")


@asynccontextmanager
async def open_telegram() -> AsyncGenerator[TelegramPerson]:
    os.environ["TELEGRAM_TOKEN"] = TOKEN
    try:
        async with open_fake() as fake:
            yield TelegramPerson(fake)
    finally:
        del os.environ["TELEGRAM_TOKEN"]
