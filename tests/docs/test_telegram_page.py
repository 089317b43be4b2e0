"""docs/telegram.md: its configurations are ones that hookgate takes, and its table says what the channel says."""

from __future__ import annotations

from pathlib import Path

import pytest

from hookgate.channels.telegram.api import ApiFailed
from hookgate.channels.telegram.connection import Connection
from hookgate.channels.telegram.settings import TelegramSettings
from hookgate.config import parse
from tests.docs.page import read_page

FILE = Path(__file__).parents[2] / "docs" / "telegram.md"
BLOCKS = [part.text for part in read_page(FILE).parts if part.language == "toml"]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    assert parse(block, Path("telegram.md")).channels["telegram"].kind == "telegram"


@pytest.mark.parametrize("code", [401, 409, 0])
def test_what_the_channel_says_is_in_the_table(code: int) -> None:
    connection = Connection(TelegramSettings("telegram", "t", "TELEGRAM_TOKEN"))
    connection.failed(ApiFailed(code, "it cannot be reached"))
    said = connection.state.why.removeprefix("Telegram: ").partition(":")[0]
    assert f"`{said}`" in FILE.read_text()
