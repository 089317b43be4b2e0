"""`hookgate serve` as a program that a test has started, and who has logged in to its page."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from subprocess import PIPE
from typing import Any

import httpx
import trio

from hookgate.protocol.values import JsonObject
from tests.cli.program import HOOKGATE, environment
from tests.processes import line_of

DEADLINE_S = 120.0
PAGE = re.compile(r"web: (http://[0-9.:]+)/#token=([^\s&]+)\S*\n")


@asynccontextmanager
async def serving(
    folder: Path, *command: str, **variables: str
) -> AsyncGenerator[tuple[trio.Process, httpx.AsyncClient]]:
    """The program, `serve` if nothing else, and a client that has logged in by the token that it printed. The folder
    gets what it logs, in `stderr`, and what it has printed by then, in `shown`."""
    env = {**environment(folder), **variables}
    with (folder / "stderr").open("ab") as stderr:
        async with trio.open_nursery() as nursery:
            start = partial(trio.run_process, [*HOOKGATE, *(command or ("serve",))], cwd=folder, env=env)
            process: trio.Process = await nursery.start(partial(start, stdout=PIPE, stderr=stderr, check=False))
            assert process.stdout is not None
            shown = ""
            while (found := PAGE.search(shown)) is None:
                shown += (await line_of(process.stdout)).decode()
            (folder / "shown").write_text(shown)
            address, token = found.groups()
            async with httpx.AsyncClient(base_url=address, timeout=DEADLINE_S) as client:
                assert (await client.post("/api/login", json={"token": token})).status_code == 204
                client.headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
                yield process, client


async def until(client: httpx.AsyncClient, path: str, wanted: Callable[[Any], Any]) -> Any:
    """What is answered there once `wanted` is true of it."""
    while not wanted(found := (await client.get(path)).json()):
        await trio.sleep(0.02)
    return found


def says(text: str) -> JsonObject:
    return {"key": "k-" + text.replace(" ", "-"), "text": text}
