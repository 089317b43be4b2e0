"""docs/slack.md: its configurations are ones that hookgate takes, its manifest asks for what the channel needs, and
its table says what the channel says."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hookgate.channels.slack.api import ApiFailed
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming import events
from hookgate.channels.slack.scopes import SCOPES
from hookgate.channels.slack.settings import Secret, SlackSettings
from hookgate.config import parse
from tests.docs.page import read_page

FILE = Path(__file__).parents[2] / "docs" / "slack.md"
BLOCKS = [part.text for part in read_page(FILE).parts if part.language == "toml"]
[MANIFEST] = [json.loads(part.text) for part in read_page(FILE).parts if part.language == "json"]


@pytest.mark.parametrize("block", BLOCKS)
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    assert parse(block, Path("slack.md")).channels["slack"].kind == "slack"


def test_the_manifest_asks_for_what_the_channel_needs_and_no_more() -> None:
    assert set(MANIFEST["oauth_config"]["scopes"]["bot"]) == SCOPES
    kinds = {it.partition(".")[0] for it in MANIFEST["settings"]["event_subscriptions"]["bot_events"]}
    assert kinds == {*events.SPOKEN, *events.TURNED}
    assert not MANIFEST["settings"]["token_rotation_enabled"], "its tokens would expire"
    page = FILE.read_text()
    assert [scope for scope in SCOPES if f"`{scope}`" not in page] == []


@pytest.mark.parametrize(
    ("error", "variable"),
    [("invalid_auth", "SLACK_BOT_TOKEN"), ("invalid_auth", "SLACK_APP_TOKEN"), ("", ""), ("missing_scope", "")],
)
def test_what_the_channel_says_is_in_the_table(error: str, variable: str) -> None:
    other = Secret("x", "SLACK_APP_TOKEN")
    connection = Connection(SlackSettings("slack", Secret("t", "SLACK_BOT_TOKEN"), other))
    connection.failed(ApiFailed(error, error or "it cannot be reached"), other if variable == other.name else None)
    said = connection.state.why.removeprefix("Slack: ").partition(":")[0]
    assert f"`{said}`" in FILE.read_text()
