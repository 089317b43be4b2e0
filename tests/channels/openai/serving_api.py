"""A gateway in this process that answers OpenAI's API before a model endpoint on loopback, and keys for it."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import trio

from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.serve.run import Served, open_gateway
from tests.model_server import Answer, ModelServer, Received, echo, open_model_server

DEADLINE_S = 60.0
HEAD = """
[agent]
model = "p/m"
system = "You are the agent."
workspace = "{folder}"
retries = 0
[agents.coder]
system = "You write code."
[providers.p]
kind = "openai"
base_url = "{url}"
[http]
listen = "127.0.0.1:0"
[store]
journal = "{folder}/state/journal.db"
[control]
enabled = false
[channels.api]
kind = "openai"
"""


@dataclass
class Api:
    """`ann`: a client with her key; `key`: what shows it."""

    served: Served
    model: ModelServer
    ann: httpx.AsyncClient
    key: str

    async def client(self, name: str) -> httpx.AsyncClient:
        """Of somebody else, with a key of their own."""
        return _client(self.served, await add_key(self.served, name))

    async def ask(self, text: str, *, headers: dict[str, str] | None = None, **more: Any) -> httpx.Response:
        return await self.ann.post("/chat/completions", json=asking(text, **more), headers=headers)


def asking(*said: str | dict[str, Any], **more: Any) -> dict[str, Any]:
    """The body of a request; texts are a user's."""
    messages = [{"role": "user", "content": it} if isinstance(it, str) else it for it in said]
    return {"model": "hookgate", "messages": messages, **more}


async def add_key(served: Served, name: str, channel: str = "api") -> str:
    _key, shown = await served.runtime.keys.add(channel, name, "test")
    return shown


@asynccontextmanager
async def open_api(
    folder: Path, *answers: Answer, more: str = "", otherwise: Callable[[Received], Answer] = echo
) -> AsyncGenerator[Api]:
    """`more`: besides HEAD, which ends in the channel's section. In the end every call must be accounted for."""
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(*answers, otherwise=otherwise) as model:
            file = folder / "hookgate.toml"
            file.write_text(HEAD.format(folder=folder, url=model.base_url) + more)
            config, _file = configuration.load(file)
            async with open_gateway(Settings(config, folder, file, serving=True), None, trio.Event()) as served:
                shown = await add_key(served, "ann")
                async with _client(served, shown) as ann:
                    yield Api(served, model, ann, shown)
            assert served.runtime.agent.tally.balanced, served.runtime.agent.tally


def _client(served: Served, key: str) -> httpx.AsyncClient:
    headers = {"authorization": f"Bearer {key}"}
    return httpx.AsyncClient(base_url=f"http://{served.address}/v1", headers=headers, timeout=DEADLINE_S)
