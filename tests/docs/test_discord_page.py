"""docs/discord.md: its configuration is one that hookgate takes, and its table says what the channel says."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from hookgate.channels.discord.api import ApiFailed
from hookgate.channels.discord.connection import UNMENDED, Connection
from hookgate.channels.discord.settings import DiscordSettings
from hookgate.channels.platforms.sockets import SocketClosed
from hookgate.config import parse
from tests.docs.page import read_page

FILE = Path(__file__).parents[2] / "docs" / "discord.md"
BLOCKS = [part.text for part in read_page(FILE).parts if part.language == "toml"]
VIEW, SEND, ATTACH, HISTORY, SEND_IN_THREADS = 1 << 10, 1 << 11, 1 << 15, 1 << 16, 1 << 38


@pytest.mark.parametrize("block", BLOCKS)
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    assert parse(block, Path("discord.md")).channels["discord"].kind == "discord"


def test_the_invitation_asks_for_the_permissions_of_the_table() -> None:
    found = re.search(r"permissions=(\d+)", FILE.read_text())
    assert found is not None
    assert int(found[1]) == VIEW | SEND | ATTACH | HISTORY | SEND_IN_THREADS


@pytest.mark.parametrize("code", [0, 401, 4004, *(it for it in UNMENDED if it != 4010)])
def test_what_the_channel_says_is_in_the_table(code: int) -> None:
    connection = Connection(DiscordSettings("discord", "t", "DISCORD_TOKEN"))
    if code < 4000:
        connection.failed(ApiFailed(code, "it cannot be reached"))
    else:
        connection.closed(SocketClosed("it closed the connection", code))
    said = connection.state.why.removeprefix("Discord: ").partition(":")[0]
    assert f"`{said}`" in FILE.read_text()


def test_that_no_more_sessions_may_begin_is_in_the_table() -> None:
    connection = Connection(DiscordSettings("discord", "t", "DISCORD_TOKEN"))
    assert connection.spent(7200) == 7200
    assert connection.state.why.startswith("Discord lets the bot begin no more sessions for 120 min")
    assert "`Discord lets the bot begin no more sessions for ...`" in FILE.read_text()
