"""docs/webhooks.md: its programs talk to a gateway, its configurations are ones that hookgate takes, and its tables
list what there is."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import get_args

import pytest
import trio

from hookgate.channels.webhook.envelope import Envelope
from hookgate.channels.webhook.reading import MEMBERS, WebhookMessage, read
from hookgate.channels.webhook.settings import Rules
from hookgate.channels.webhook.signing import read_secret
from hookgate.config import parse
from hookgate.protocol.chat import Chat, Outbound
from hookgate.sections.gateway import KEYS_OF, WebhookEvent
from tests.docs.page import codes, read_page
from tests.processes import line_of
from tests.serve.gateway import DEADLINE_S, configured, open_served

FILE = Path(__file__).parents[2] / "docs" / "webhooks.md"
PAGE = read_page(FILE)
BLOCKS = [part.text for part in PAGE.parts if part.language == "toml"]
CHANNEL = """
[channels.alerts]
kind = "webhook"
secret_env = "HOOK_SECRET"
url = "{url}"
url_secret_env = "TOLD_SECRET"
allow_private = true
"""


def marked(mark: str) -> str:
    [found] = [part.text for part in PAGE.parts if part.mark == mark]
    return found


def command(name: str) -> list[str]:
    return shlex.split(marked(f"run: {name}").removeprefix("$ python3 "))


@asynccontextmanager
async def running(folder: Path, *arguments: str, **variables: str) -> AsyncGenerator[trio.Process]:
    process = await trio.lowlevel.open_process(
        [sys.executable, *arguments], cwd=folder, env=variables, stdout=subprocess.PIPE
    )
    try:
        yield process
    finally:
        process.kill()
        await process.wait()
        assert process.stdout is not None
        await process.stdout.aclose()


async def test_the_programs_of_the_page_talk_to_a_gateway(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made = await trio.run_process([sys.executable, *command("secret")], capture_stdout=True)
    secret, other = made.stdout.decode().strip(), "whsec_" + "A" * 43 + "="
    assert len(read_secret(secret)) == 32
    monkeypatch.setenv("HOOK_SECRET", secret)
    monkeypatch.setenv("TOLD_SECRET", other)
    for name in ("send.py", "receive.py"):
        (tmp_path / name).write_text(marked(f"file: {name}"))
    with trio.fail_after(DEADLINE_S):
        async with running(tmp_path, *command("receive")[:1], "0", TOLD_SECRET=other) as receiver:
            assert receiver.stdout is not None
            url = (await line_of(receiver.stdout)).decode().strip()
            async with open_served(configured(tmp_path, CHANNEL.format(url=url))) as served:
                file, address, text = command("send")
                sent = address.replace("127.0.0.1:8710", served.address)
                async with running(tmp_path, file, sent, text, HOOK_SECRET=secret) as sender:
                    assert sender.stdout is not None
                    assert re.match(r'202 \{"id":"M\d+","known":false\}', (await line_of(sender.stdout)).decode())
                assert (await line_of(receiver.stdout)).decode() == "hookgate.message.answer Hello.\n"


@pytest.mark.parametrize("block", BLOCKS)
def test_every_configuration_block_is_one_that_hookgate_takes(block: str) -> None:
    [section] = parse(block, Path("webhooks.md")).channels.values()
    assert section.kind == "webhook"


def test_the_page_has_every_key_member_and_event() -> None:
    tables = {part.mark: [it for row in part.rows for it in codes(row[0])] for part in PAGE.parts}
    assert set(tables["members"]) == set(MEMBERS)
    assert set(tables["told"]) == set(get_args(WebhookEvent))
    assert [key for key in KEYS_OF["webhook"] if not re.search(rf"^{key} = ", "".join(BLOCKS), re.MULTILINE)] == []


def test_what_comes_in_and_goes_out_is_as_the_page_shows_it() -> None:
    assert read(marked("message").encode(), {}, Rules()) == WebhookMessage(
        "Look after the build.", "builds", "ann", "42"
    )
    shown = json.loads(marked("event"))
    outbound = Outbound(Chat("alerts", "ann", "ann"), "Hello.", in_reply_to="msg_0b7e")
    assert json.loads(Envelope(shown["source"], shown["id"]).message(outbound, (), ())) == shown
