"""One conversation on every channel: text, a stream, a tool, a yes and a no by button, a file, and a restart in the
middle. It reads the same to the person, wherever it is held."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from pathlib import Path

import pytest
import trio

from hookgate.store.journal.operators.looking import open_look
from tests.channels.conversation.discord import open_discord
from tests.channels.conversation.person import Line, Person
from tests.channels.conversation.slack import open_slack
from tests.channels.conversation.telegram import open_telegram
from tests.channels.conversation.web import open_web
from tests.channels.conversation.webhook import open_webhook
from tests.channels.storing import PNG
from tests.serve.gateway import configured, open_served

PEOPLE: dict[str, Callable[[], AbstractAsyncContextManager[Person]]] = {
    "web": open_web,
    "telegram": open_telegram,
    "slack": open_slack,
    "discord": open_discord,
    "webhook": open_webhook,
}
STORY = "Once upon a *time* there was a gate. " * 10
SCRIPT = {
    "pace_s": 0.05,
    "steps": [
        {"when": "story", "text": f"{STORY}**The end.**"},
        {"when": "list", "calls": [{"name": "ls", "arguments": {"path": "kept"}}]},
        {"when": "note", "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]},
        {"on": "tool", "when": "(?s)denied|refused", "text": "Then not."},
        {"on": "tool", "when": "(?s)here.txt", "text": "There is `here.txt`."},
        {"on": "tool", "when": "(?s).*", "text": "Noted."},
        {"when": "picture", "text": "I see it."},
        {"when": "hello", "text": "Hello **there**."},
    ],
}
RULE = '[[approvals]]\ntools = ["bash"]\n'


@pytest.mark.parametrize("channel", PEOPLE)
async def test_a_conversation_reads_the_same_on_every_channel(tmp_path: Path, channel: str) -> None:
    (tmp_path / "kept").mkdir()
    (tmp_path / "kept" / "here.txt").touch()
    with trio.fail_after(120):
        async with PEOPLE[channel]() as person:
            settings = configured(tmp_path, person.section + RULE, json.dumps(SCRIPT))
            async with open_served(settings) as served, person.at(served.address):
                await person.says("hello")
                await reads(person, 1)
                await person.says("tell me a story")
                await reads(person, 2)
                await person.says("list what is here")
                await reads(person, 3)
                await person.says("note it")
                await person.sees_buttons()
                await all_has_left(tmp_path / "state" / "journal.db")
            async with open_served(settings) as served, person.at(served.address):
                await person.presses("Allow")
                await reads(person, 5)
                await person.says("note it once more")
                await person.sees_buttons()
                await person.presses("Deny")
                await reads(person, 7)
                await person.shows(PNG, "a picture")
                lines = await reads(person, 8)
            assert lines == [
                Line("answer", "Hello there."),
                Line("answer", f"{STORY.replace('*', '')}The end."),
                Line("answer", "There is here.txt."),
                Line("question", "bash", "allowed"),
                Line("answer", "Noted."),
                Line("question", "bash", "refused"),
                Line("answer", "Then not."),
                Line("answer", "I see it."),
            ]
            assert (tmp_path / "notes.txt").read_text() == "once\n"
            assert person.problems == []


async def all_has_left(journal: Path) -> None:
    """The gateway has heard so of everything: what it has not, it says again."""
    left: object = None
    while left != (0,):
        await trio.sleep(0.05)
        with open_look(journal) as tables:
            left = tables.one("SELECT count(*) FROM outbox WHERE state IS NULL")


async def reads(person: Person, number: int) -> list[Line]:
    """What stands there, once so much does and nothing of it is still to be decided."""
    while len(lines := await person.reads()) < number or any(it.kind == "question" and not it.end for it in lines):
        await trio.sleep(0.05)
    return lines
