"""Ann's program: it posts what she says and decides, signed, and is told what hookgate says."""

from __future__ import annotations

import json
import os
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from itertools import count
from time import time
from typing import Any, Literal

import httpx

from hookgate.channels.webhook.signing import read_secret, signed
from tests.channels.conversation.person import End, Line
from tests.channels.webhook.receiver import SECRET, Receiver, open_receiver

SECTION = """
[channels.webhook]
kind = "webhook"
secret_env = "WEBHOOK_SECRET"
url = "{url}"
allow_private = true
"""
ENDS: dict[str, End] = {"open": "", "approved": "allowed", "refused": "refused"}


class WebhookPerson:
    def __init__(self, receiver: Receiver) -> None:
        self._receiver = receiver
        self.section = SECTION.format(url=receiver.url)
        self._url, self._ids = "", count(1)

    @property
    def problems(self) -> list[str]:
        return [it.id for it in self._receiver.sent if not it.is_signed()]

    @asynccontextmanager
    async def at(self, address: str) -> AsyncGenerator[None]:
        self._url = f"http://{address}/hooks/webhook"
        yield

    async def says(self, text: str, **more: object) -> None:
        body = json.dumps({"text": text, "sender": "ann", **more}).encode()
        headers = signed([read_secret(SECRET)], f"ann-{next(self._ids)}", int(time()), body)
        async with httpx.AsyncClient(timeout=60) as client:
            answer = await client.post(self._url, content=body, headers=headers)
            assert answer.status_code == 202, answer.text

    async def shows(self, picture: bytes, text: str) -> None:
        await self.says(text, media=[f"data:image/png;base64,{b64encode(picture).decode()}"])

    async def reads(self) -> list[Line]:
        """What came again, under an id that is known, counts once; a request has one line."""
        lines = dict[str, Line]()
        for sent in self._receiver.sent:
            data = sent.event["data"]
            if request := data.get("request"):
                lines[request["id"]] = Line("question", request["tool"], ENDS[request["state"]])
            elif not sent.event["type"].endswith(".notice"):
                lines[sent.id] = Line("answer", data["text"].replace("*", "").replace("`", ""))
        return list(lines.values())

    async def sees_buttons(self) -> None:
        await self._receiver.until(self._asked)

    async def presses(self, button: Literal["Allow", "Deny"]) -> None:
        [asked] = self._asked()
        await self.says(asked["approve" if button == "Allow" else "deny"])

    def _asked(self) -> list[Any]:
        """What waits for a decision."""
        asked = dict[str, Any]()
        for sent in self._receiver.sent:
            if request := sent.event["data"].get("request"):
                asked[request["id"]] = sent.event["data"]
        return [it for it in asked.values() if it["request"]["state"] == "open"]


@asynccontextmanager
async def open_webhook() -> AsyncGenerator[WebhookPerson]:
    os.environ["WEBHOOK_SECRET"] = SECRET
    try:
        async with open_receiver() as receiver:
            yield WebhookPerson(receiver)
    finally:
        del os.environ["WEBHOOK_SECRET"]
