"""A kept conversation before hooks are up: it can be read, counted and cleared, and stdin may end behind that."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.cli.rpc_client import Client, Frame, open_rpc, scripted

HOOK = """
import json, pathlib, sys
pathlib.Path("gate").open("rb").readline()
for line in sys.stdin:
    asked = json.loads(line)
    if "id" in asked:
        print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": {"ok": True}}), flush=True)
"""
KEPT = '[store]\njournal = "journal.db"\n'
KEEPING = ("--session", "notes")
OLD = ["old talk", "One."]
WHERE = pytest.mark.parametrize("where", [{}, {"chat_id": "a"}])


async def kept(folder: Path, **where: str) -> Path:
    """With a conversation in which something was said."""
    async with open_rpc(scripted(folder, {"text": "One."}, more=KEPT), *KEEPING) as client:
        await client.send("prompt", message=OLD[0], **where)
        await client.done()
        assert await client.ends() == 0
    return folder


class Gated(Client):
    """Its one hook says hello once the gate is open, and nothing that waits for hooks goes on before."""

    gate: int

    def open_gate(self) -> None:
        os.write(self.gate, b"\n")


@asynccontextmanager
async def open_gated(folder: Path, *steps: Frame) -> AsyncGenerator[Gated]:
    (folder / "hook.py").write_text(HOOK)
    hook = f'[hooks.processes.late]\ncommand = ["{sys.executable}", "hook.py"]\nintercept = ["before_tool"]\n'
    os.mkfifo(folder / "gate")
    gate = os.open(folder / "gate", os.O_RDWR)
    try:
        async with open_rpc(scripted(folder, *steps, more=KEPT + hook), *KEEPING) as client:
            gated = Gated(client.process, client.stdin, client.stdout, client.stderr, client.heard)
            gated.gate = gate
            yield gated
    finally:
        os.close(gate)


async def said(client: Client, **where: str) -> list[str]:
    return texts(await client.ask("get_messages", **where))


def texts(answer: Frame) -> list[str]:
    return [it["content"][0]["text"] for it in answer["data"]["messages"]]


async def count(client: Client, **where: str) -> Any:
    return (await client.ask("get_state", **where))["data"]["message_count"]


@WHERE
async def test_it_is_read_and_counted_before_any_hook_is_up(tmp_path: Path, where: dict[str, str]) -> None:
    async with open_gated(await kept(tmp_path, **where), {"text": "Two."}) as client:
        assert (await count(client, **where), await said(client, **where)) == (2, OLD)
        assert await count(client, chat_id="other") == 0
        await client.send("prompt", message="new", **where)
        client.open_gate()
        await client.done()
        assert (await count(client, **where), await said(client, **where)) == (4, [*OLD, "new", "Two."])


@WHERE
async def test_what_is_cleared_before_any_hook_is_up_stays_forgotten(tmp_path: Path, where: dict[str, str]) -> None:
    async with open_gated(await kept(tmp_path, **where), {"text": "Two."}) as client:
        await client.send("clear", **where)
        await client.send("prompt", message="new", **where)
        assert (await client.next())["success"]
        assert (await count(client, **where), await said(client, **where)) == (0, [])
        client.open_gate()
        await client.done()
        assert (await count(client, **where), await said(client, **where)) == (2, ["new", "Two."])
        assert await client.ends() == 0
    async with open_rpc(scripted(tmp_path, more=KEPT), *KEEPING) as client:
        assert await said(client, **where) == ["new", "Two."]


async def test_commands_of_a_chat_are_done_in_their_order_while_it_is_still_to_be_read(tmp_path: Path) -> None:
    async with open_gated(await kept(tmp_path)) as client:
        commands = ("get_messages", "clear", "get_messages", "ping")
        await client.raw("\n".join(f'{{"id":{n},"type":"{it}"}}' for n, it in enumerate(commands)).encode())
        answers = {it["id"]: it for it in [await client.next() for _ in commands]}
        assert [it for it in answers if it != 3] == [0, 1, 2]
        assert (texts(answers[0]), texts(answers[2])) == (OLD, [])


@pytest.mark.parametrize("flags", [KEEPING, ("-c",)])
@pytest.mark.parametrize("command", ["get_messages", "get_state"])
async def test_it_is_answered_also_where_stdin_ends_at_once(
    tmp_path: Path, flags: tuple[str, ...], command: str
) -> None:
    async with open_rpc(await kept(tmp_path), *flags) as client:
        await client.send(command, id="1")
        assert await client.ends() == 0
        (answer,) = await client.rest()
        assert (answer["id"], answer["success"]) == ("1", True)
        assert answer["data"].get("message_count", 2) == 2
        assert command == "get_state" or texts(answer) == OLD


async def test_where_none_is_kept_yet_there_are_no_messages_and_stdin_may_end(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path, more=KEPT), "-c") as client:
        await client.send("get_messages", id="1")
        assert await client.ends() == 0
        (answer,) = await client.rest()
        assert answer["data"] == {"messages": []}
