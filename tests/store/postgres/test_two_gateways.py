"""Two programs on one database with the same bot: one of them asks Telegram for messages, and each is answered once,
whichever of them is stopped, goes on or is killed."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.channels.telegram.fake import TOKEN, FakeTelegram, open_fake
from tests.postgres import Server
from tests.serve.started import serving

DEADLINE_S = 180.0
CONFIGURATION = """
[agent]
model = "p/m"
[providers.p]
kind = "scripted"
script = "script.json"
[http]
listen = "127.0.0.1:0"
[channels.web]
kind = "web"
[channels.telegram]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{}"
allow = ["7"]
[store]
url = "{}"
"""


async def state(page: httpx.AsyncClient) -> dict[str, Any]:
    """Of the bot's channel."""
    return (await page.get("/ready")).json()["channels"]["telegram"]


async def becomes(page: httpx.AsyncClient, wanted: str) -> str:
    """Why the channel is so, once it is."""
    while (found := await state(page))["state"] != wanted:
        await trio.sleep(0.05)
    return found["why"]


async def held_by(page: httpx.AsyncClient) -> int:
    """The process of the gateway that has the channel, once it has left its name."""
    while not (pid := (await becomes(page, "elsewhere")).rpartition(":")[2]).isdigit():
        await trio.sleep(0.05)
    return int(pid)


DELIVERED = "SELECT count(*) FROM hookgate.outbox WHERE state = 'delivered'"
ANSWERED = "SELECT count(*) FROM hookgate.messages WHERE outcome = 'answered'"


async def answered(fake: FakeTelegram, server: Server, address: str, number: int) -> None:
    """As the books have it: what a gateway has sent and not written down before it was stopped may come twice."""
    fake.say(f"message {number}")
    for counted in (ANSWERED, DELIVERED):
        while await trio.to_thread.run_sync(server.sql, counted, address) != f"{number}\n":
            await trio.sleep(0.1)


async def holder(*pages: httpx.AsyncClient) -> int:
    """Which of them has the bot's connection, once the other one says so."""
    while True:
        states = [(await state(it))["state"] for it in pages]
        if sorted(states) == ["elsewhere", "receiving"]:
            return states.index("receiving")
        await trio.sleep(0.05)


async def test_each_message_is_answered_once_whichever_gateway_is_stopped_or_killed(
    server: Server, tmp_path: Path
) -> None:
    address = server.database()
    with trio.fail_after(DEADLINE_S):
        async with open_fake() as fake:
            for name in ("one", "other"):
                (tmp_path / name).mkdir()
                (tmp_path / name / "hookgate.toml").write_text(CONFIGURATION.format(fake.url, address))
                (tmp_path / name / "script.json").write_text('{"steps": [{"text": "Hello."}]}')
            async with (
                serving(tmp_path / "one", TELEGRAM_TOKEN=TOKEN) as one,
                serving(tmp_path / "other", TELEGRAM_TOKEN=TOKEN) as other,
            ):
                await answered(fake, server, address, 1)
                gateways = (one, other)
                has = await holder(one[1], other[1])
                (first, page), (second, other_page) = gateways[has], gateways[1 - has]
                paused = await held_by(other_page)
                os.kill(paused, signal.SIGSTOP)
                # For longer than the lease: the other one takes it.
                assert await becomes(other_page, "receiving") == ""
                await answered(fake, server, address, 2)
                os.kill(paused, signal.SIGCONT)
                # Whoever has it by now.
                gone, stays = (first, other_page) if await holder(page, other_page) == 0 else (second, page)
                gone.kill()
                assert await becomes(stays, "receiving") == ""
                await answered(fake, server, address, 3)
                (second if gone is first else first).terminate()
            assert fake.wrong == []
