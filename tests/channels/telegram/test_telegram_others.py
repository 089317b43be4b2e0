"""The channel before servers that others have written after the Bot API: one strict about limits and about who
receives, one that lets people press buttons."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate.channels.telegram.api import Api, ApiFailed, open_api
from hookgate.protocol.chat import Outbound
from tests.channels.others import NODE_MODULES, first_line, node
from tests.channels.storing import request
from tests.channels.telegram.bench import asked, became, direct, opened
from tests.channels.telegram.fake import ANN, TOKEN, FakeTelegram

WITH_BUTTONS = """
const Server = require('telegram-test-api');
const free = require('net').createServer().listen(0, '127.0.0.1', () => {
  const port = free.address().port;
  free.close(() => new Server({port, host: '127.0.0.1'}).start().then(() => console.log(port)));
});
"""


@pytest.fixture(autouse=True)
def _servers() -> None:
    if not NODE_MODULES.exists():
        pytest.skip("the servers of others are not installed: make .venv/.telegram")


async def until(holds: Callable[[], Any]) -> None:
    while not holds():
        await trio.sleep(0.02)


def before(url: str) -> FakeTelegram:
    """What a bench needs of a server: where it is."""
    server = FakeTelegram()
    server.url = url
    return server


@asynccontextmanager
async def buttons(folder: Path) -> AsyncGenerator[str]:
    async with node(folder, "-e", WITH_BUTTONS) as process:
        yield f"http://127.0.0.1:{(await first_line(process)).strip()}"


async def test_a_button_of_somebody_elses_server_decides(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with (
            buttons(tmp_path) as url,
            httpx.AsyncClient(base_url=url) as person,
            opened(tmp_path, before(url), token=TOKEN) as bench,
        ):
            where = {"id": 7, "type": "private", "first_name": "Ann"}
            said = {"botToken": TOKEN, "from": ANN, "chat": where, "date": 1, "text": "hello"}
            await person.post("/sendMessage", json=said)
            await until(lambda: bench.received)
            assert (bench.received[0].chat, bench.received[0].text) == (direct(), "hello")
            await asked(bench, request(direct()))
            card = await shown(person, lambda it: "reply_markup" in it["message"])
            [data, *_] = [it["callback_data"] for it in card["message"]["reply_markup"]["inline_keyboard"][0]]
            message = {"message_id": card["messageId"], "chat": where, "from": ANN}
            press = {"botToken": TOKEN, "from": ANN, "message": message, "data": data, "date": 1}
            await person.post("/sendCallback", json=press)
            assert (await became(bench, "approved")).votes[-1].name == "Ann (7)"
            await shown(person, lambda it: it["message"]["text"].endswith("Allowed by Ann (7)."))


async def shown(person: httpx.AsyncClient, is_it: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """A message of the bot's, once it is so."""
    while True:
        history = (await person.post("/getUpdatesHistory", json={"token": TOKEN})).json()["result"]
        for it in history:
            if it.get("message", {}).get("text") and is_it(it):
                return it
        await trio.sleep(0.05)


@asynccontextmanager
async def strict(folder: Path) -> AsyncGenerator[dict[str, Any]]:
    program = NODE_MODULES / "@openclaw" / "crabline" / "dist" / "src" / "bin" / "crabline.js"
    ready = folder / "ready.json"
    async with node(folder, str(program), "--json", "serve", "telegram", "--ready-file", str(ready)):
        await until(lambda: ready.exists() and ready.read_text().strip().endswith("}"))
        yield json.loads(ready.read_text())


async def says(server: dict[str, Any], text: str) -> None:
    headers = {"X-Crabline-Admin-Token": server["adminToken"]}
    async with httpx.AsyncClient() as admin:
        answer = await admin.post(
            server["endpoints"]["adminInboundUrl"], json={"chatId": "7", "text": text}, headers=headers
        )
        assert answer.status_code < 300, answer.text


async def test_a_strict_server_takes_what_is_sent_and_has_one_receiver(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with (
            strict(tmp_path) as server,
            open_api(server["baseUrl"], server["botToken"]) as other,
            opened(tmp_path, before(server["baseUrl"]), token=server["botToken"]) as bench,
            trio.open_nursery() as nursery,
        ):
            await until(lambda: bench.channel.state.state == "receiving")
            await says(server, "hello")
            await until(lambda: bench.received)
            assert bench.received[0].text == "hello"
            chat = bench.received[0].chat
            receipt = await bench.channel.send(Outbound(chat, "😀" * 2000), "k1")
            await bench.channel.edit(Outbound(chat, "**less**"), receipt)
            with pytest.raises(ApiFailed, match="too long"):
                await other.call("sendMessage", {"chat_id": 7, "text": "😀" * 2048 + "x"})
            nursery.start_soon(receive_beside, other)
            await until(lambda: bench.channel.state.state == "down")
            assert bench.channel.state.why.startswith("somebody else receives with the token in TG_TOKEN")
            nursery.cancel_scope.cancel()


async def receive_beside(other: Api) -> None:
    while True:
        try:
            await other.poll(0, 3, ["message"])
        except ApiFailed:
            await trio.sleep(0.01)
