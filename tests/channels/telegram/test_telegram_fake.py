"""The fake Bot API judged by an unmodified official client library, which knows nothing of hookgate."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import trio

from tests.channels.telegram.fake import ANN, TOKEN, FakeTelegram, open_fake

PYTHON = Path(sys.prefix) / "telegram" / "bin" / "python"
BOT = Path(__file__).parent / "echo_bot.py"


@pytest.fixture(autouse=True)
def _client_library() -> None:
    if not PYTHON.exists():
        pytest.skip("the client library is not installed: make .venv/.telegram")


@asynccontextmanager
async def echo_bot(fake: FakeTelegram) -> AsyncGenerator[None]:
    process = await trio.lowlevel.open_process(
        [str(PYTHON), str(BOT), fake.url, TOKEN], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )
    try:
        yield
    finally:
        process.terminate()
        await process.wait()


async def test_a_bot_of_the_official_client_library_works_before_the_fake() -> None:
    with trio.fail_after(120):
        async with open_fake() as fake, echo_bot(fake):
            bold = [{"type": "bold", "offset": 0, "length": 2}]
            fake.say("😀 hello", entities=bold)
            await fake.until(lambda: fake.texts(7) == ["😀 hello"])
            assert fake.sent(7)[0]["entities"] == bold
            topic = fake.group(-1005, is_forum=True)
            fake.topics[-1005] = {4}
            fake.say("there", chat=topic, message_thread_id=4, is_topic_message=True)
            await fake.until(lambda: fake.sent(-1005))
            assert fake.sent(-1005)[0]["message_thread_id"] == 4
            fake.say(photo=[{**fake.file(b"a picture"), "width": 1, "height": 1}])
            await fake.until(lambda: "9 bytes" in fake.texts(7))
            assert fake.files[fake.sent(7)[-1]["photo"][-1]["file_id"]] == b"a picture"
            command = [{"type": "bot_command", "offset": 0, "length": 4}]
            fake.say("/ask", entities=command)
            await fake.until(lambda: "Sure?" in fake.texts(7))
            press = fake.press(fake.sent(7)[-1], "Yes", ANN)
            await fake.until(lambda: "Ann said a:1" in fake.texts(7))
            assert fake.called("answerCallbackQuery") == [{"callback_query_id": press, "text": "Thanks"}]
            assert "reply_markup" not in fake.sent(7)[-1]
            assert fake.wrong == []
