"""The fake Discord judged by an unmodified official client library, which knows nothing of hookgate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.channels.discord.fake import ANN, OPS, TOKEN, FakeDiscord, open_fake

PYTHON = Path(sys.prefix) / "discord" / "bin" / "python"
BOT = Path(__file__).parent / "echo_bot.py"


@pytest.fixture(autouse=True)
def _client_library() -> None:
    if not PYTHON.exists():
        pytest.skip("the client library is not installed: make .venv/.discord")


@asynccontextmanager
async def echo_bot(fake: FakeDiscord) -> AsyncGenerator[None]:
    process = await trio.lowlevel.open_process(
        [str(PYTHON), str(BOT), fake.url, fake.gateway, TOKEN], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_a_bot_of_the_official_client_library_works_before_the_fake() -> None:
    with trio.fail_after(120):
        async with open_fake() as fake, echo_bot(fake):
            await fake.until(lambda: fake.listening, 40)
            direct = fake.direct(ANN)["id"]
            fake.say("😀 hello **you**")
            await fake.until(lambda: fake.texts(direct) == ["😀 hello **you**"])
            thread = fake.thread()
            fake.say("there", room=thread)
            await fake.until(lambda: fake.sent(thread["id"]))
            assert fake.sent(thread["id"])[0]["referenced_message"]["content"] == "there"
            fake.say(attachments=[fake.attach(b"a picture")])
            await fake.until(lambda: "9 bytes" in fake.texts(direct))
            assert fake.called("POST /channels/{channel_id}/messages")[-1].files == {"files[0]": b"a picture"}
            # What is missed while nobody listens comes with the session that goes on.
            fake.hang_up(4000)
            fake.say("ask", room=fake.rooms[OPS])
            await fake.until(lambda: "Sure?" in fake.texts(OPS), 40)
            act = fake.press(fake.sent(OPS)[-1], "Yes")
            await fake.until(lambda: fake.texts(OPS) == ["Ann said a:1"] and act["whispers"])
            assert act["answer"]["type"] == 6
            assert act["whispers"][0] | {"content": "Thanks", "flags": 64} == act["whispers"][0]
            assert fake.sent(OPS)[-1]["components"] == []
            assert [it["name"] for it in fake.commands] == ["twice"]
            act = fake.command("twice", "ho")
            await fake.until(lambda: act["answer"])
            assert act["answer"]["data"]["content"] == "ho ho"
            assert fake.wrong == []
            assert fake.starts_left == 999
