"""The channel before a server that others have written after Slack: its Web API, and events that it signs."""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio

from hookgate.channels.http.server import Receive, Scope, Send, serve_http
from hookgate.channels.slack.settings import Secret
from hookgate.protocol.chat import Chat, Outbound
from hookgate.protocol.chat.channel import Undelivered
from tests.channels.others import NODE_MODULES, first_line, node
from tests.channels.slack.bench import Bench, opened
from tests.channels.slack.fake import FakeSlack

SERVER = """
import(process.env.CRABLINE).then(async it => {
  const server = await it.startSlackServer({eventsRequestUrl: process.argv[1]});
  console.log(JSON.stringify(server.manifest));
});
"""


@pytest.fixture(autouse=True)
def _server() -> None:
    if not NODE_MODULES.exists():
        pytest.skip("the servers of others are not installed: make .venv/.telegram")


@asynccontextmanager
async def before_it(folder: Path) -> AsyncGenerator[tuple[Bench, dict[str, Any]]]:
    benches, stop = list[Bench](), trio.Event()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        webhook = benches[0].opened.webhook
        assert webhook is not None
        await webhook(scope, receive, send)

    async with trio.open_nursery() as nursery:

        async def serve(task_status: trio.TaskStatus[str]) -> None:
            await serve_http(answer, "127.0.0.1:0", started=task_status.started, stop=stop)

        address = await nursery.start(serve)
        module = NODE_MODULES / "@openclaw" / "crabline" / "dist" / "src" / "servers" / "slack.js"
        program = SERVER.replace("process.env.CRABLINE", json.dumps(module.as_uri()))
        async with node(folder, "-e", program, f"http://{address}/channels/sl") as process:
            server = json.loads(await first_line(process))
            fake = FakeSlack()
            fake.url = server["baseUrl"]
            token, secret = Secret(server["botToken"], "SLACK_TOKEN"), Secret(server["signingSecret"], "SLACK_SECRET")
            async with opened(folder, fake, mode="webhook", token=token, other=secret) as bench:
                benches.append(bench)
                yield bench, server
        stop.set()


async def says(server: dict[str, Any], text: str, channel: str, **more: str) -> str:
    headers = {"X-Crabline-Admin-Token": server["adminToken"]}
    said = {"channel": channel, "text": text, "user": "U0ANN", **more}
    async with httpx.AsyncClient() as admin:
        answer = await admin.post(server["endpoints"]["adminInboundUrl"], json=said, headers=headers)
        assert answer.status_code < 300, answer.text
        return str(answer.json()["message"]["ts"])


async def test_a_server_of_others_brings_what_is_said_and_takes_what_is_answered(tmp_path: Path) -> None:
    with trio.fail_after(60):
        async with before_it(tmp_path) as (bench, server):
            while bench.channel.state.state != "receiving":
                await trio.sleep(0.01)
            ts = await says(server, "<@UCRABBOT> hello &amp; look", "C0GENERAL")
            [heard] = await bench.heard(1)
            assert (heard.text, heard.mentioned, heard.message_id) == ("hello & look", True, ts)
            assert heard.chat == Chat("sl", "C0GENERAL", "U0ANN", "group", ts)
            await bench.channel.send(Outbound(heard.chat, "**seen**"), "k")
            await says(server, "and there", "C0GENERAL", thread_ts=ts)
            [_, after] = await bench.heard(2)
            assert (after.text, after.reply_to_bot) == ("and there", True)
            # A thread that is not there is a word more in the channel.
            await bench.channel.send(
                Outbound(Chat("sl", "C0GENERAL", "U0ANN", "group", "1600000000.000000"), "lost"), "l"
            )
            history = await asked(server, "conversations.history", channel="C0GENERAL")
            assert [it["text"] for it in history["messages"]] == [
                "lost\n\n(The thread that this belongs to is gone.)",
                "<@UCRABBOT> hello &amp; look",
            ]
            replies = await asked(server, "conversations.replies", channel="C0GENERAL", ts=ts)
            assert [it["text"] for it in replies["messages"]][1:] == ["*seen*", "and there"]
            with pytest.raises(Undelivered, match="no_text"):
                await bench.channel.send(Outbound(heard.chat, " "), "n")


async def asked(server: dict[str, Any], method: str, **params: str) -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {server['botToken']}"}
    async with httpx.AsyncClient() as client:
        answer = await client.post(f"{server['baseUrl']}/api/{method}", data=params, headers=headers)
        return answer.json()
