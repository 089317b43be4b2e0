"""`hookgate rpc` with MCP servers: a program prompts at once, and the first prompt has their tools."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.cli.program import none_left
from tests.cli.rpc_client import Frame, one, open_rpc, scripted

ODD = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "odd.py"
ECHO: Frame = {"calls": [{"name": "odd__echo", "arguments": {"text": "hi"}, "id": "c1"}]}


def server(command: str, more: str = "") -> str:
    return f'[mcp.servers.odd]\ncommand = ["/bin/sh", "-c", {json.dumps(command)}]\n{more}'


@pytest.mark.parametrize("kept", [False, True])
async def test_the_first_prompt_waits_for_a_server_that_starts_slowly(tmp_path: Path, *, kept: bool) -> None:
    slow = server(f"sleep 1; exec {sys.executable} {ODD}")
    flags = ("--session", "one") if kept else ()
    async with open_rpc(scripted(tmp_path, ECHO, more=slow), "--no-ext", *flags) as client:
        await client.send("prompt", message="go")
        result = one(await client.done(), "tool_result")
        assert not result["is_error"], result
        assert await client.ends() == 0
    await none_left(tmp_path)


async def test_one_that_never_says_hello_holds_the_first_prompt_up_for_its_own_time(tmp_path: Path) -> None:
    mute = server(f"exec {sys.executable} {ODD} mute", "connect_timeout_ms = 500\n")
    async with open_rpc(scripted(tmp_path, ECHO, more=mute), "--no-ext") as client:
        assert (await client.ask("ping"))["success"]
        await client.send("prompt", message="go")
        assert one(await client.done(), "tool_result")["is_error"]
        assert await client.ends() == 0
    await none_left(tmp_path)
