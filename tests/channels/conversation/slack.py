"""Ann in her direct messages with the bot, in a Slack workspace."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Any, Literal

from tests.channels.conversation.person import End, Line
from tests.channels.slack.fake import APP_TOKEN, TOKEN, FakeSlack, open_fake

SECTION = """
[channels.slack]
kind = "slack"
token_env = "SLACK_TOKEN"
app_token_env = "SLACK_APP_TOKEN"
base_url = "{url}"
allow = ["U0ANN"]
"""
ENDS: dict[str, End] = {"Allowed": "allowed", "Refused": "refused"}
_ENDED = re.compile(r"\S+ (Allowed|Refused) by ann \(U0ANN\)\.$")


class SlackPerson:
    def __init__(self, fake: FakeSlack) -> None:
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
        self._fake.say(text, files=[self._fake.file(picture)], subtype="file_share")

    async def reads(self) -> list[Line]:
        return [_line(it) for it in self._fake.sent()]

    async def sees_buttons(self) -> None:
        await self._fake.until(lambda: _has_buttons(self._fake.sent()[-1]))

    async def presses(self, button: Literal["Allow", "Deny"]) -> None:
        self._fake.press(self._fake.sent()[-1], button)


def _has_buttons(message: dict[str, Any]) -> bool:
    return any(it["type"] == "actions" for it in message.get("blocks", ()))


def _line(message: dict[str, Any]) -> Line:
    text = message["text"]
    if not text.startswith("Run bash?"):
        return Line("answer", re.sub(r"[*_`]", "", text))
    ended = _ENDED.search(text)
    return Line("question", "bash", ENDS[ended[1]] if ended else "")


@asynccontextmanager
async def open_slack() -> AsyncGenerator[SlackPerson]:
    os.environ |= {"SLACK_TOKEN": TOKEN, "SLACK_APP_TOKEN": APP_TOKEN}
    try:
        async with open_fake() as fake:
            yield SlackPerson(fake)
    finally:
        for name in ("SLACK_TOKEN", "SLACK_APP_TOKEN"):
            del os.environ[name]
