"""The fake workspace judged by an unmodified official client library, which knows nothing of hookgate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.channels.slack.fake import ANN, APP_TOKEN, BOT_USER, DIRECT, GENERAL, TOKEN, FakeSlack, open_fake

PYTHON = Path(sys.prefix) / "slack" / "bin" / "python"
BOT = Path(__file__).parent / "echo_bot.py"


@pytest.fixture(autouse=True)
def _client_library() -> None:
    if not PYTHON.exists():
        pytest.skip("the client library is not installed: make .venv/.slack")


@asynccontextmanager
async def echo_bot(fake: FakeSlack) -> AsyncGenerator[None]:
    process = await trio.lowlevel.open_process(
        [str(PYTHON), str(BOT), fake.url, TOKEN, APP_TOKEN], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_a_bot_of_the_official_client_library_works_before_the_fake() -> None:
    with trio.fail_after(120):
        async with open_fake() as fake, echo_bot(fake):
            fake.say("hello")
            await fake.until(lambda: fake.texts() == ["hello"])
            said = fake.say(f"<@{BOT_USER}> there", channel=GENERAL)
            await fake.until(lambda: fake.texts(GENERAL) == ["you said there"])
            assert fake.sent(GENERAL)[0]["thread_ts"] == said["ts"]
            fake.say(files=[fake.file(b"some words", "a.txt", "text/plain")])
            back = await fake.until(lambda: [it for it in fake.sent() if it.get("files")])
            assert fake.files[back[0]["files"][0]] == b"some words"
            fake.say("stream")
            await fake.until(lambda: fake.texts()[-1].endswith("three") and not fake.streaming)
            fake.say("history")
            await fake.until(lambda: fake.texts()[-1].startswith("history "))
            fake.say("ask")
            card = await fake.until(lambda: fake.sent()[-1].get("blocks") and fake.sent()[-1])
            fake.press(card, "Yes", ANN)
            await fake.until(lambda: fake.texts()[-1] == "ann said a:1")
            await fake.until(lambda: fake.called("chat.postEphemeral"))
            fake.command("/echo", "this")
            await fake.until(lambda: fake.texts()[-1] == "commanded this")
            await fake.disconnect("warning")
            await fake.until(lambda: fake.opened > 1)
            fake.say("after")
            await fake.until(lambda: fake.texts(DIRECT)[-1] == "after")
            assert fake.wrong == []
