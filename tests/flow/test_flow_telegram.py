"""Telegram with a whole gateway: what is its own. A conversation by it is in test_flow_channels."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.config import ConfigError
from hookgate.serve.run import Served
from tests.channels.telegram.fake import ANN, BOB, TOKEN, FakeTelegram, open_fake
from tests.serve.gateway import configured, get, open_served

STORY = "Once upon a *time* there was a gate. " * 10
SCRIPT = {
    "pace_s": 0.05,
    "steps": [
        {"when": "story", "text": f"{STORY}**The end.**"},
        {"when": "hello", "text": "Hello **there**."},
    ],
}
CHANNEL = """
[channels.telegram]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{url}"
allow = ["7"]
"""


@asynccontextmanager
async def serving(folder: Path, fake: FakeTelegram, more: str = "") -> AsyncGenerator[Served]:
    settings = configured(folder, CHANNEL.format(url=fake.url) + more, json.dumps(SCRIPT))
    async with open_served(settings) as served:
        yield served


@pytest.fixture(autouse=True)
def _token(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", TOKEN)


async def test_an_answer_is_read_while_it_is_written_and_the_menu_has_the_commands(tmp_path: Path) -> None:
    with trio.fail_after(120):
        async with open_fake() as fake:
            fake.say("tell me a story")
            async with serving(tmp_path, fake) as served:
                await fake.until(lambda: fake.texts(7) and fake.texts(7)[-1].endswith("The end."), 60)
                assert len(fake.called("editMessageText")) > 1
                assert len(fake.sent(7)) == 1
                assert fake.called("sendChatAction")
                assert (await get(served, "/ready"))[0] == 200
                stop = {"command": "stop", "description": "end what runs here"}
                assert stop in fake.called("setMyCommands")[0]["commands"]
            assert fake.wrong == []


async def test_a_group_hears_the_bot_when_it_is_named_and_strangers_are_told_once(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with open_fake() as fake, serving(tmp_path, fake):
            group = fake.group(-1005, is_forum=True)
            fake.topics[-1005] = {4}
            there = {"chat": group, "message_thread_id": 4, "is_topic_message": True}
            fake.say("hello everybody", **there)
            named = [{"type": "mention", "offset": 0, "length": 9}]
            fake.say("@gate_bot hello", entities=named, **there)
            await fake.until(lambda: fake.sent(-1005))
            fake.say("hello", user=BOB)
            await fake.until(lambda: fake.sent(8))
            assert fake.texts(8)[0].endswith("Whoever runs me can put you there.")
            fake.say("hello again", user=BOB)
            fake.say("hello", user=ANN)
            await fake.until(lambda: fake.sent(7))
            assert [it["message_thread_id"] for it in fake.sent(-1005)] == [4]
            assert len(fake.sent(8)) == 1
            assert fake.wrong == []


async def test_a_webhook_stands_beside_the_page_and_knows_its_secret(tmp_path: Path) -> None:
    more = 'mode = "webhook"\norigin = "https://bots.example.org"\n[channels.web]\nkind = "web"\n'
    with trio.fail_after(60):
        async with open_fake() as fake:
            channel = CHANNEL.format(url=fake.url) + more
            settings = configured(tmp_path, channel, json.dumps(SCRIPT))
            async with open_served(settings) as served:
                await fake.until(lambda: fake.webhook)
                assert fake.webhook["url"] == "https://bots.example.org/channels/telegram"
                fake.webhook["url"] = f"http://{served.address}/channels/telegram"
                fake.say("hello")
                assert await fake.bring(secret="guessed") == [404]
                assert await fake.bring() == [200]
                await fake.until(lambda: fake.texts(7) == ["Hello there."])
                assert (await get(served, "/ready"))[0] == 200


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ('kind = "telegram"', "token_env has to name the variable with the bot's token"),
        ('kind = "telegram"\ntoken_env = "T"\nmode = "webhook"', "needs an origin with https"),
        ('kind = "telegram"\ntoken_env = "T"\nshow_trace = true', "show_trace is no key of a channel of the kind"),
        ('kind = "web"\nmode = "poll"', "mode is no key of a channel of the kind 'web'"),
    ],
)
def test_a_section_that_is_not_whole_is_a_mistake(tmp_path: Path, wrong: str, said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        configuration.parse(f"[channels.x]\n{wrong}\n", tmp_path / "hookgate.toml")
