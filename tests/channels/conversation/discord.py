"""Ann in her direct messages with the bot, at Discord."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

from tests.channels.conversation.person import End, Line
from tests.channels.discord.fake import ANN, TOKEN, FakeDiscord, open_fake

SECTION = """
[channels.discord]
kind = "discord"
token_env = "DISCORD_TOKEN"
base_url = "{url}"
allow = ["{ann}"]
"""
ENDS: dict[str, End] = {"Allowed": "allowed", "Refused": "refused"}
_ENDED = re.compile(rf"\S+ (Allowed|Refused) by Ann \({ANN['id']}\)\.\*\*$")


class DiscordPerson:
    def __init__(self, fake: FakeDiscord) -> None:
        self._fake, self._room = fake, fake.direct(ANN)["id"]
        self.section = SECTION.format(url=fake.url, ann=ANN["id"])

    @property
    def problems(self) -> list[str]:
        return self._fake.wrong

    @asynccontextmanager
    async def at(self, address: str) -> AsyncGenerator[None]:
        del address
        # What is said before a bot has ever listened nobody hears.
        await self._fake.until(lambda: self._fake.listening)
        yield

    async def says(self, text: str) -> None:
        self._fake.say(text)

    async def shows(self, picture: bytes, text: str) -> None:
        self._fake.say(text, attachments=[self._fake.attach(picture)])

    async def reads(self) -> list[Line]:
        return [_line(it) for it in self._fake.sent(self._room)]

    async def sees_buttons(self) -> None:
        await self._fake.until(lambda: self._fake.sent(self._room)[-1]["components"])

    async def presses(self, button: Literal["Allow", "Deny"]) -> None:
        self._fake.press(self._fake.sent(self._room)[-1], button)


def _line(message: dict[str, Any]) -> Line:
    text = message["content"]
    if not text.startswith("**Run bash?"):
        return Line("answer", re.sub(r"[*_`\\]", "", text))
    ended = _ENDED.search(text)
    return Line("question", "bash", ENDS[ended[1]] if ended else "")


@asynccontextmanager
async def open_discord() -> AsyncGenerator[DiscordPerson]:
    os.environ["DISCORD_TOKEN"] = TOKEN
    try:
        async with open_fake() as fake:
            yield DiscordPerson(fake)
    finally:
        del os.environ["DISCORD_TOKEN"]
