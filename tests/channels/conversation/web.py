"""Ann at the page, by what it asks of the gateway."""

from __future__ import annotations

import html
import re
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Any, Literal

import httpx
import trio

from hookgate.channels.web.access.passwords import hashed
from tests.channels.conversation.person import End, Line

SECTION = f"""
[channels.web]
kind = "web"
users = {{ Ann = "{hashed("right", 8)}" }}
"""
ENDS: dict[str, End] = {"done": "allowed", "denied": "refused"}
CHAT = "/api/chats/1"


class WebPerson:
    section = SECTION
    _page: httpx.AsyncClient

    def __init__(self) -> None:
        self._keys = count()
        self.problems = list[str]()

    @asynccontextmanager
    async def at(self, address: str) -> AsyncGenerator[None]:
        async with httpx.AsyncClient(base_url=f"http://{address}", timeout=30) as self._page:
            entered = await self._page.post("/api/login", json={"user": "Ann", "password": "right"})
            assert entered.status_code == 204, entered.text
            self._page.headers["x-csrf-token"] = (await self._page.get("/api/me")).json()["csrf"]
            yield

    async def says(self, text: str, **more: Any) -> None:
        said = await self._page.post(f"{CHAT}/messages", json={"key": f"k{next(self._keys)}", "text": text, **more})
        assert said.status_code == 202, said.text

    async def shows(self, picture: bytes, text: str) -> None:
        kept = await self._page.post("/api/media", content=picture)
        assert kept.status_code in (200, 201), kept.text
        await self.says(text, media=[kept.json()["id"]])

    async def reads(self) -> list[Line]:
        found = (await self._page.get(CHAT)).json()["messages"]
        return [line for it in found if it["role"] == "assistant" for line in _lines(it)]

    async def sees_buttons(self) -> None:
        while not (await self._page.get("/api/approvals")).json():
            await trio.sleep(0.05)

    async def presses(self, button: Literal["Allow", "Deny"]) -> None:
        [card] = (await self._page.get("/api/approvals")).json()
        await self._page.post(f"/api/approvals/{card['id']}", json={"approved": button == "Allow"})


def _lines(message: dict[str, Any]) -> Iterator[Line]:
    """A call that somebody was asked about stands above its answer."""
    for tool in message["tools"]:
        if tool["name"] == "bash":
            yield Line("question", "bash", ENDS.get(tool["state"], ""))
    yield Line("answer", _plain(message["html"]))


def _plain(markup: str) -> str:
    return html.unescape(re.sub("<[^>]*>", "", markup)).strip()


@asynccontextmanager
async def open_web() -> AsyncGenerator[WebPerson]:
    yield WebPerson()
