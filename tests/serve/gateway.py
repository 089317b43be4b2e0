"""A gateway in this process, as `hookgate serve` opens it, and what it answers over HTTP."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import trio

from hookgate import config as configuration
from hookgate.assembly.settings import Settings
from hookgate.serve.run import Served, open_gateway

DEADLINE_S = 60.0
HEAD = """
[agent]
model = "p/m"
workspace = "{folder}"
[providers.p]
kind = "scripted"
script = "script.json"
[http]
listen = "{listen}"
[store]
journal = "{folder}/state/journal.db"
[control]
enabled = false
"""
SCRIPT = '{"steps": [{"text": "Hello."}]}'


def configured(folder: Path, more: str = "", script: str = SCRIPT, listen: str = "127.0.0.1:0") -> Settings:
    """HEAD and `more` in a file of this folder, read."""
    (folder / "script.json").write_text(script)
    file = folder / "hookgate.toml"
    file.write_text(HEAD.format(folder=folder, listen=listen) + more)
    config, _file = configuration.load(file)
    return Settings(config, folder, file, serving=True)


@asynccontextmanager
async def open_served(
    settings: Settings, stopping: trio.Event | None = None, deadline_s: float = DEADLINE_S
) -> AsyncGenerator[Served]:
    with trio.fail_after(deadline_s):
        async with open_gateway(settings, None, trio.Event() if stopping is None else stopping) as served:
            yield served


async def get(served: Served, path: str) -> tuple[int, Any]:
    """The status, and the JSON that was answered."""
    async with httpx.AsyncClient() as client:
        answer = await client.get(f"http://{served.address}{path}")
        return answer.status_code, answer.json()
