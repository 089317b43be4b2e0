"""A gateway that is killed in the middle of answers that people read at another one: they read them to their end, and
what only that one ran is run by another."""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from typing import Any

import httpx
import trio

from tests.channels.openai.serving_api import asking
from tests.channels.web.site import Heard, listening
from tests.cli.program import PLUGINS, run
from tests.crash.killing import kill
from tests.model_server import Answer, Received, hang, open_model_server, says
from tests.postgres import Server
from tests.serve.started import says as saying
from tests.serve.started import serving, until

DEADLINE_S = 60.0
CONFIGURATION = """
[agent]
model = "p/m"
retries = 0
[providers.p]
kind = "openai"
base_url = "{url}"
[http]
listen = "127.0.0.1:0"
[channels.web]
kind = "web"
[channels.api]
kind = "openai"
[control]
enabled = false
[store]
url = "{database}"
[hooks.processes.watcher]
command = ["{python}", "watcher.py"]
observe = ["turn_end"]
singleton = true
"""
WATCHER = """
import os, time
from hookgate_plugin import Plugin

plugin = Plugin("watcher")

def note(what):
    with open("{log}", "a") as log:
        print(os.getpid(), time.monotonic(), what, file=log)

@plugin.event
def see(event):
    note(event.kind)

note("begins")
plugin.run()
"""
WORDS = "The ", "answer ", "is ", "here."
OTHERS = "Something ", "else."


@dataclass
class Model:
    """What it says depends on what it is asked, and how often it was: the second time to the end."""

    go: trio.Event = field(default_factory=trio.Event)
    asked: Counter[str] = field(default_factory=Counter[str])

    def __call__(self, received: Received) -> Answer:
        text = str(received.body["messages"][-1]["content"])
        self.asked[text] += 1
        if text.startswith("first"):
            return replace(says("Yes."), go=self.go)
        if self.asked[text] == 1:
            # The head and two words.
            return hang(says(*WORDS), 3)
        return says(*(OTHERS if text == "other" else WORDS))


@dataclass
class Stream:
    """A completion as its client reads it. `ended`: with [DONE]."""

    pieces: list[str] = field(default_factory=list[str])
    reason: str = ""
    error: str = ""
    ended: bool = False

    @property
    def text(self) -> str:
        return "".join(self.pieces)

    async def read(
        self, client: httpx.AsyncClient, text: str, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        """Begun once it is stored."""
        session = {"x-hookgate-session": text.partition(" ")[2] or text}
        body = asking(text, stream=True)
        async with client.stream("POST", "/v1/chat/completions", json=body, headers=session) as answer:
            assert answer.status_code == 200, await answer.aread()
            task_status.started()
            async for line in answer.aiter_lines():
                if line == "data: [DONE]":
                    self.ended = True
                elif line.startswith("data: "):
                    self._take(json.loads(line[6:]))

    def _take(self, chunk: dict[str, Any]) -> None:
        self.error = chunk.get("error", {}).get("message", "")
        for choice in chunk.get("choices", ()):
            self.pieces.append(choice["delta"].get("content") or "")
            self.reason = choice["finish_reason"] or self.reason

    async def has(self, text: str) -> None:
        while self.text != text:
            await trio.sleep(0.01)


@asynccontextmanager
async def two(
    server: Server, folder: Path, url: str
) -> AsyncGenerator[tuple[trio.Process, list[httpx.AsyncClient], list[httpx.AsyncClient]]]:
    """The first one; of both, a client of the page and one of the API."""
    database = server.database()
    for name in ("one", "two"):
        (folder / name).mkdir()
        text = CONFIGURATION.format(url=url, database=database, python=sys.executable)
        (folder / name / "hookgate.toml").write_text(text)
        (folder / name / "watcher.py").write_text(WATCHER.format(log=folder / "watched"))
        (folder / name / "hookgate_plugin.py").write_text((PLUGINS / "hookgate_plugin.py").read_text())
    added = await run(folder / "one", "keys", "add", "ann", "--channel", "api")
    key = next(word for word in added.stdout.decode().split() if word.startswith("hg_"))
    async with AsyncExitStack() as stack:
        started = [await stack.enter_async_context(serving(folder / name)) for name in ("one", "two")]
        pages = [page for _process, page in started]
        for page in pages:
            while "hookgate_gateways 2" not in (await page.get("/metrics")).text:
                await trio.sleep(0.05)
        headers = {"authorization": f"Bearer {key}"}
        apis = [
            await stack.enter_async_context(
                httpx.AsyncClient(base_url=page.base_url, headers=headers, timeout=DEADLINE_S)
            )
            for page in pages
        ]
        yield started[0][0], pages, apis
        for process, _page in started:
            if process.returncode is None:
                process.terminate()


async def shown(live: Heard, *words: str) -> None:
    """Until the page has read these."""
    text = ""
    while text != "".join(words):
        text += (await live.next("delta"))[1]["text"]


async def answered(live: Heard) -> tuple[str, str]:
    """The answer, and what was shown of it while it was written since the page was last told to begin anew."""
    text = ""
    while True:
        name, data = await live.next("snapshot", "restart", "delta", "message")
        match name:
            case "delta":
                text += data["text"]
            case "message":
                if data["role"] == "assistant":
                    return data["text"], text
            case _:
                text = data["running"]["text"] if data.get("running") else ""
                if data.get("messages") and (last := data["messages"][-1])["role"] == "assistant":
                    return last["text"], text


async def begun(log: Path, times: int) -> tuple[int, float]:
    """Once the hook has begun so often: its process, and when."""
    while len(found := [it.split() for it in lines_of(log) if it.endswith(" begins")]) < times:
        await trio.sleep(0.02)
    return int(found[-1][0]), float(found[-1][1])


def lines_of(log: Path) -> list[str]:
    return log.read_text().splitlines() if log.exists() else []


async def test_whoever_reads_along_at_another_gateway_reads_to_the_end_and_a_singleton_hook_moves(
    server: Server, tmp_path: Path
) -> None:
    model = Model()
    with trio.fail_after(DEADLINE_S):
        async with (
            open_model_server(otherwise=model) as models,
            two(server, tmp_path, models.base_url) as (owner, (page, other), (api, there)),
            listening(other, "c1") as live,
        ):
            await live.next("snapshot")
            first, _at = await begun(tmp_path / "watched", 1)
            await page.post("/api/chats/c1/messages", json=saying("page"))
            await shown(live, *WORDS[:2])
            async with trio.open_nursery() as nursery:
                streams = {text: Stream() for text in ("same", "other")}
                # Each has its session at the first one, where a turn is at work when the second request comes.
                async with trio.open_nursery() as before:
                    for text in streams:
                        await before.start(Stream().read, api, f"first {text}")
                    while model.asked.total() < 3:
                        await trio.sleep(0.01)
                    for text, stream in streams.items():
                        await nursery.start(stream.read, there, text)
                    model.go.set()
                for stream in streams.values():
                    await stream.has("".join(WORDS[:2]))
                killed = monotonic()
                kill(owner, guardian=True)
                assert await answered(live) in (("".join(WORDS),) * 2, ("".join(WORDS), ""))
            assert (streams["same"].text, streams["same"].reason) == ("".join(WORDS), "stop")
            # What was read cannot be taken back.
            assert streams["other"].text.startswith("".join(WORDS[:2]))
            assert "was taken back" in streams["other"].error
            assert all(it.ended for it in streams.values())
            assert model.asked == {"page": 2, "same": 2, "other": 2, "first same": 1, "first other": 1}
            stands = await until(other, "/api/chats/c1", lambda it: it["running"] is None)
            assert [it["text"] for it in stands["messages"]] == ["page", "".join(WORDS)]
            pid, at = await begun(tmp_path / "watched", 2)
            print(f"the hook ran again {at - killed:.1f} s after the gateway was killed")
            assert pid != first
            await other.post("/api/chats/c2/messages", json=saying("first of another chat"))
            while not any(it.split()[::2] == [f"{pid}", "turn_end"] for it in lines_of(tmp_path / "watched")):
                await trio.sleep(0.02)
