"""A gateway that is killed while it answers: the request, sent again under its key, finds the one turn."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, suppress
from functools import partial
from pathlib import Path

import httpx
import trio

from tests.channels.openai.serving_api import HEAD, asking
from tests.cli.program import HOOKGATE, environment
from tests.flow.test_flow_serve import worker
from tests.model_server import ModelServer, calls, hang, open_model_server, says
from tests.processes import line_of

DEADLINE_S = 120.0
KEYED = {"idempotency-key": "pay-once"}
TOUCH = ("m1", "bash", '{"command":"echo x >> count.txt"}')


@asynccontextmanager
async def program(folder: Path) -> AsyncGenerator[tuple[trio.Process, str]]:
    """`hookgate serve`, and its address; told to stop at the end."""
    with (folder / "stderr").open("ab") as stderr:
        async with trio.open_nursery() as nursery:
            start = partial(trio.run_process, [*HOOKGATE, "serve"], cwd=folder, env=environment(folder))
            process: trio.Process = await nursery.start(
                partial(start, stdout=subprocess.PIPE, stderr=stderr, check=False)
            )
            assert process.stdout is not None
            line = (await line_of(process.stdout)).decode()
            yield process, line.splitlines()[0].split()[-1].rstrip("/")
            if process.returncode is None:
                os.kill(process.pid, signal.SIGTERM)


async def ask(address: str, key: str) -> httpx.Response:
    headers = {"authorization": f"Bearer {key}", **KEYED}
    async with httpx.AsyncClient(base_url=f"{address}/v1", headers=headers, timeout=DEADLINE_S) as client:
        return await client.post("/chat/completions", json=asking("Pay."))


async def killed_while_it_answers(folder: Path, model: ModelServer) -> str:
    """The key that the request was made with."""
    async with program(folder) as (process, address):
        add = [*HOOKGATE, "keys", "add", "ann", "--channel", "api"]
        added = await trio.run_process(add, cwd=folder, env=environment(folder), capture_stdout=True)
        key = next(word for word in added.stdout.decode().split() if word.startswith("hg_"))

        async def ask_in_vain() -> None:
            with suppress(httpx.HTTPError):
                await ask(address, key)

        async with trio.open_nursery() as nursery:
            nursery.start_soon(ask_in_vain)
            while len(model.requests) < 2:
                await trio.sleep(0.02)
            os.kill(worker(process), signal.SIGKILL)
        return key


async def test_a_request_that_is_sent_again_after_a_crash_is_the_one_turn(tmp_path: Path) -> None:
    """Its tool has run once, and its answer comes to whoever asks again."""
    answers = calls(TOUCH), hang(says("never"), 0), says("Paid.")
    with trio.fail_after(DEADLINE_S):
        async with open_model_server(*answers) as model:
            text = HEAD.format(folder=tmp_path, url=model.base_url).replace("enabled = false", "enabled = true")
            (tmp_path / "hookgate.toml").write_text(text)
            key = await killed_while_it_answers(tmp_path, model)
            async with program(tmp_path) as (_process, address):
                for _ in range(2):
                    answered = await ask(address, key)
                    assert answered.status_code == 200, answered.text
                    assert answered.json()["choices"][0]["message"]["content"] == "Paid."
                    # Of both model calls that gave an answer, the one before the crash too.
                    assert answered.json()["usage"]["total_tokens"] == 20
            assert (tmp_path / "count.txt").read_text() == "x\n"
            assert len(model.requests) == 3
