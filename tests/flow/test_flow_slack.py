"""Slack with a whole gateway: what is its own. A conversation by it is in test_flow_channels."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import trio

from hookgate import config as configuration
from hookgate.config import ConfigError
from tests.channels.slack.fake import ANN, APP_TOKEN, BOB, BOT_USER, GENERAL, TOKEN, open_fake
from tests.serve.gateway import configured, get, open_served

STORY = "Once upon a *time* there was a gate. " * 10
SCRIPT = {
    "pace_s": 0.05,
    "steps": [
        {"when": "story", "text": f"{STORY}**The end.**"},
        {"when": "note", "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]},
        {"on": "tool", "when": "(?s).*", "text": "Noted."},
        {"when": "hello", "text": "Hello **there**."},
    ],
}
CHANNEL = """
[channels.slack]
kind = "slack"
token_env = "SLACK_TOKEN"
app_token_env = "SLACK_APP_TOKEN"
base_url = "{url}"
allow = ["U0ANN"]
[[approvals]]
tools = ["bash"]
[people.ann]
ids = ["slack:U0ANN"]
roles = ["approver"]
"""


@pytest.fixture(autouse=True)
def _tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLACK_TOKEN", TOKEN)
    monkeypatch.setenv("SLACK_APP_TOKEN", APP_TOKEN)


async def test_a_thread_of_a_channel_is_a_conversation_with_streams_buttons_and_commands(tmp_path: Path) -> None:
    with trio.fail_after(120):
        async with open_fake() as fake:
            settings = configured(tmp_path, CHANNEL.format(url=fake.url), json.dumps(SCRIPT))
            async with open_served(settings) as served:
                said = fake.say(f"<@{BOT_USER}> tell me a story", channel=GENERAL)
                fake.say("a story, to others", channel=GENERAL)
                await fake.until(lambda: fake.sent(GENERAL) and fake.texts(GENERAL)[0].endswith("The end.**"), 60)
                await fake.until(lambda: not fake.streaming)
                assert fake.texts(GENERAL) == [f"{STORY}**The end.**"]
                assert len(fake.called("chat.appendStream")) > 1, "it was read while it was written"
                assert fake.called("assistant.threads.setStatus")
                thread = {"channel": GENERAL, "thread_ts": said["ts"]}
                fake.say("note it", **thread)
                card = await fake.until(lambda: fake.sent(GENERAL)[-1].get("blocks") and fake.sent(GENERAL)[-1])
                fake.press(card, "Allow", BOB, GENERAL)
                [told] = await fake.until(lambda: fake.called("chat.postEphemeral"))
                assert told["user"] == BOB["id"]
                fake.press(card, "Allow", ANN, GENERAL)
                await fake.until(lambda: fake.texts(GENERAL)[-1] == "Noted.")
                fake.say("hello", user=BOB, channel="D0BOB")
                await fake.until(lambda: "You are not on the list" in "".join(fake.texts("D0BOB")))
                fake.say(f"<@{BOT_USER}> /help", **thread)
                await fake.until(lambda: "/stop" in fake.texts(GENERAL)[-1])
                assert {it.get("thread_ts") for it in fake.sent(GENERAL)} == {said["ts"]}
                fake.command("/hookgate", "help")
                await fake.until(lambda: fake.sent() and "/stop" in fake.texts()[-1])
                assert (await get(served, "/ready"))[0] == 200
                assert fake.wrong == []
    assert (tmp_path / "notes.txt").read_text() == "once\n"


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ('app_token_env = "A"', "token_env has to name the variable with the bot's token"),
        ('token_env = "T"', "app_token_env has to name"),
        ('token_env = "T"\nmode = "webhook"', "needs signing_secret_env"),
        ('token_env = "T"\napp_token_env = "A"\nmode = "poll"', "has the modes socket and webhook"),
        ('token_env = "T"\napp_token_env = "A"\nusers = {}', "users is no key of a channel of the kind 'slack'"),
    ],
)
def test_a_channel_that_cannot_work_is_a_mistake(keys: str, says: str) -> None:
    with pytest.raises(ConfigError, match=says):
        configuration.parse(f'[channels.slack]\nkind = "slack"\n{keys}\n', Path("hookgate.toml"))
