"""docs/channel-hooks.md: its hooks, in one gateway that runs as a program, do what they are for where they should,
and nowhere else."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import trio

from tests.channels.telegram.fake import ANN, BOB, TOKEN, FakeTelegram, open_fake
from tests.docs.page import read_page
from tests.docs.test_journal_page import output
from tests.preloaded import put_hookgate
from tests.serve.gateway import configured
from tests.serve.started import says, serving, until

ROOT = Path(__file__).parents[2]
PAGE = read_page(ROOT / "docs" / "channel-hooks.md")
CONFIG = "".join(part.text for part in PAGE.marked("config"))
CARL = {"id": 9, "is_bot": False, "first_name": "Carl"}
DORA = {"id": 10, "is_bot": False, "first_name": "Dora"}
MENTION = [{"type": "mention", "offset": 0, "length": 9}]
SCRIPT = {
    "steps": [
        {"when": "ticket", "calls": [{"name": "open_ticket", "arguments": {"subject": "it is broken"}}]},
        {"when": "deploy (\\S+)", "calls": [{"name": "deploy", "arguments": {"version": "$1"}}]},
        {"on": "tool", "when": "(?s).*", "text": "The tool said: $0"},
        {"when": "(?s).*", "text": "heard: $0"},
    ]
}


def put_programs(folder: Path) -> None:
    """The page's hooks, and the programs that they run."""
    shutil.copytree(ROOT / "plugins" / "python", folder / "hooks", ignore=shutil.ignore_patterns("extensions"))
    for part in PAGE.marked("file"):
        (folder / part.mark.split()[1]).write_text(part.text)
    programs = {"deploy.sh": 'echo "$1" >> deployed; echo "$1 is out"', "bin/trans": "tr a-z A-Z"}
    for name, line in programs.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"#!/bin/sh\n{line}\n")
        (folder / name).chmod(0o755)


def at_night() -> str:
    """A time zone in which it is three o'clock now."""
    return f"XXX{(time.gmtime().tm_hour - 3) % 24}"


@asynccontextmanager
async def gateway(folder: Path) -> AsyncGenerator[tuple[FakeTelegram, FakeTelegram, Path]]:
    async with open_fake() as telegram, open_fake() as support:
        config = CONFIG.replace("Europe/Berlin", at_night()).replace('"100000"', '"5"')
        for name, fake in {"TELEGRAM": telegram, "SUPPORT": support}.items():
            line = f'token_env = "{name}_TOKEN"\n'
            config = config.replace(line, f'{line}base_url = "{fake.url}"\n')
        put_programs(folder)
        configured(folder, config, json.dumps(SCRIPT))
        yield telegram, support, folder


async def test_six_hooks_in_one_gateway_each_act_where_they_are_for(tmp_path: Path) -> None:
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    async with gateway(tmp_path) as (telegram, support, folder):
        variables = {"TELEGRAM_TOKEN": TOKEN, "SUPPORT_TOKEN": TOKEN, "PATH": path}
        with trio.fail_after(120):
            async with serving(folder, **variables) as (process, page):
                await bad_words_are_stars_in_the_class_alone(telegram)
                await what_goes_to_bob_is_translated(telegram)
                await dora_has_used_her_tokens(telegram)
                await a_ticket_is_opened_in_support_alone(telegram, support, folder)
                await two_of_ops_agree_to_a_deploy(telegram, folder)
                await page.post("/api/chats/c1/messages", json=says("hello"))
                shown = await until(page, "/api/chats/c1", lambda it: len(it["messages"]) == 2)
                assert "back on weekdays from 9 to 17" in shown["messages"][1]["text"]
                process.terminate()
        assert telegram.wrong == support.wrong == []


async def bad_words_are_stars_in_the_class_alone(telegram: FakeTelegram) -> None:
    telegram.say("@gate_bot the damn report", chat=telegram.group(-1001), entities=MENTION)
    await telegram.until(lambda: telegram.texts(-1001) == ["heard: the **** report"])
    telegram.say("@gate_bot Bloody damn!", chat=telegram.group(-1001), entities=MENTION)
    await telegram.until(lambda: telegram.texts(-1001)[-1].endswith("Please say that in other words."))
    telegram.say("the damn report")
    await telegram.until(lambda: telegram.texts(7) == ["heard: the damn report"])


async def what_goes_to_bob_is_translated(telegram: FakeTelegram) -> None:
    telegram.say("guten Tag", user=BOB)
    await telegram.until(lambda: telegram.texts(8) == ["HEARD: GUTEN TAG"])


async def dora_has_used_her_tokens(telegram: FakeTelegram) -> None:
    telegram.say("tell me everything there is to tell", user=DORA)
    await telegram.until(lambda: len(telegram.sent(10)) == 1)
    telegram.say("and now the rest", user=DORA)
    await telegram.until(lambda: telegram.texts(10)[1:] == ["\u2139\ufe0f Your 5 tokens for today are used up."])


async def a_ticket_is_opened_in_support_alone(telegram: FakeTelegram, support: FakeTelegram, folder: Path) -> None:
    for number in (1, 2):
        support.say("open a ticket")
        await support.until(lambda number=number: support.texts(7)[-1:] == [f"The tool said: T-{number}"])
    [first, _] = [json.loads(line) for line in (folder / "state" / "tickets.jsonl").read_text().splitlines()]
    assert first["asked_by"].items() >= {"channel": "support", "kind": "telegram", "sender_id": "7"}.items()
    assert first["asked_by"]["roles"] == ["team", "ops"]
    telegram.say("open a ticket")
    await telegram.until(lambda: "there is no tool named" in telegram.texts(7)[-1])


async def two_of_ops_agree_to_a_deploy(telegram: FakeTelegram, folder: Path) -> None:
    telegram.say("@gate_bot deploy 1.2", chat=telegram.group(-1002), entities=MENTION)
    await telegram.until(lambda: telegram.sent(-1002) and "reply_markup" in telegram.sent(-1002)[-1])

    def answered() -> list[dict[str, Any]]:
        return telegram.called("answerCallbackQuery")

    for who in (ANN, DORA, BOB):
        press = telegram.press(telegram.sent(-1002)[-1], "Allow", who)
        await telegram.until(lambda id_=press: [it for it in answered() if it["callback_query_id"] == id_])
    await telegram.until(lambda: "1 of 2" in telegram.texts(-1002)[0])
    assert not (folder / "deployed").exists()
    telegram.press(telegram.sent(-1002)[-1], "Allow", CARL)
    await telegram.until(lambda: telegram.texts(-1002)[-1] == "The tool said: 1.2 is out")
    assert (folder / "deployed").read_text() == "1.2\n"


async def test_explain_says_what_the_page_shows(tmp_path: Path) -> None:
    put_programs(tmp_path)
    put_hookgate(tmp_path / "bin")
    (tmp_path / "hookgate.toml").write_text(CONFIG)
    command, _, shown = PAGE.one("run").text.removeprefix("$ ").partition("\n")
    assert await output(tmp_path, command) == shown
