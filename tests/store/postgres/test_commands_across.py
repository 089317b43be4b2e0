"""Commands and buttons that come to another gateway than the one where the conversation is: they act once, and people
are told once."""

from __future__ import annotations

import json
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.store.postgres import notes
from tests.channels.telegram.fake import ANN, TOKEN, open_fake
from tests.model_server import calls, says
from tests.postgres import Server
from tests.serve.started import until
from tests.store.postgres.test_across_gateways import two

EXTENSION = """
import json, sys

def say(*frames):
    for frame in frames:
        print(json.dumps(frame), flush=True)

command = {"type": "register_command", "name": "weather", "description": "what it is like"}
say({"type": "hello", "name": "weather", "version": "1"}, command, {"type": "ready"})
for line in sys.stdin:
    frame = json.loads(line)
    if frame["type"] == "command_invoked":
        with open("invoked", "a") as log:
            log.write(frame["args"] + "\\n")
        say({"type": "command_response", "id": frame["id"], "action": "prompt", "prompt": "What is fog?"})
    elif frame["type"] == "shutdown":
        break
"""


def weather(folder: Path) -> Path:
    folder.mkdir()
    (folder / "weather.py").write_text(EXTENSION)
    manifest = {"name": "weather", "exec": sys.executable, "args": ["weather.py"]}
    (folder / "extension.json").write_text(json.dumps(manifest))
    return folder


async def test_commands_act_once_where_the_conversation_is(server: Server, tmp_path: Path) -> None:
    go, extension = trio.Event(), weather(tmp_path / "weather")
    answers = says("One."), says("Two."), replace(says("Three."), go=go), says("It was about numbers."), says("Wet.")
    async with two(server, tmp_path, *answers, extension=extension) as (model, one, other):
        for number, text in enumerate(("first", "second", "third"), 1):
            await one.say(text, text)
            while len(model.requests) < number:
                await trio.sleep(0.01)
        for key, text in (("k1", "/compact"), ("k2", "/model big"), ("k3", "/weather in Bonn")):
            await other.say(key, text)
        await until(other.ann, "/api/chats/c1", lambda it: any("/model" in text for text in told(it)))
        go.set()
        shown = await until(other.ann, "/api/chats/c1", lambda it: {"Wet.", COMPACTED} <= told(it).keys())
        no_model = "There is no command /model here. /help lists what there is."
        said = "first", "One.", "second", "Two.", "third", "Three.", no_model, COMPACTED, "What is fog?", "Wet."
        assert told(shown) == Counter(said)
        assert (extension / "invoked").read_text() == "in Bonn\n"
        assert len(model.requests) == 5
        assert not other.served.runtime.gateway.sessions


async def test_a_command_of_which_the_other_gateway_was_not_told_is_done_once_it_is_found(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    go, extension = trio.Event(), weather(tmp_path / "weather")
    answers = replace(says("One."), go=go), says("Wet.")
    async with two(server, tmp_path, *answers, extension=extension) as (model, one, other):
        await one.say("k1", "first")
        await model.arrived.wait()
        # Nothing leaves.
        monkeypatch.setattr(notes, "CHANNEL", "x" * 100)
        await other.say("k2", "/weather in Bonn")
        await until(other.ann, "/api/chats/c1", lambda _: (extension / "invoked").exists())
        go.set()
        shown = await until(one.ann, "/api/chats/c1", lambda it: "Wet." in told(it))
        assert told(shown) == Counter(("first", "One.", "What is fog?", "Wet."))
        assert (extension / "invoked").read_text() == "in Bonn\n"


COMPACTED = "Compacted: 2 messages became a summary, 4 stay as they are."


def told(shown: dict[str, Any]) -> Counter[str]:
    return Counter(it["text"] for it in shown["messages"])


BOT = """
[channels.tg]
kind = "telegram"
token_env = "TELEGRAM_TOKEN"
base_url = "{}"
allow = [{}]
[[approvals]]
tools = ["write"]
"""
NUMBERS = ", ".join(f'"{number}"' for number in range(1, 40))


async def test_a_button_that_is_pressed_where_the_bot_is_counts_where_the_turn_waits(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TELEGRAM_TOKEN", TOKEN)
    writes = calls(("c1", "write", '{"path": "made.txt", "content": "hello"}'))
    async with (
        open_fake() as fake,
        two(server, tmp_path, writes, says("Done."), more=BOT.format(fake.url, NUMBERS)) as (_model, *gateways),
    ):
        cluster = gateways[0].served.runtime.journal.cluster
        while not (polls := await cluster.holder("connection tg")):
            await trio.sleep(0.02)
        # Somebody whose conversation is at the gateway that does not ask Telegram.
        number = next(it for it in range(1, 40) if cluster.place_of(f"tg:{it}") != polls)
        user = {**ANN, "id": number}
        works = next(it for it in gateways if it.served.runtime.journal.cluster.me != polls)
        fake.say("write it", user)
        [card] = await fake.until(lambda: fake.sent(number))
        fake.press(card, "Allow", user)
        await fake.until(lambda: fake.called("answerCallbackQuery") and fake.texts(number)[1:] == ["Done."])
        await fake.until(lambda: fake.texts(number)[0].endswith(f"Allowed by Ann ({number})."))
        assert [it for it in gateways if it.served.runtime.gateway.sessions] == [works]
        assert [(tmp_path / it / "made.txt").exists() for it in ("one", "two")].count(True) == 1
        assert len(fake.called("answerCallbackQuery")) == 1
        assert fake.wrong == []
