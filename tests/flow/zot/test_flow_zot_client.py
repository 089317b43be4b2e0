"""`hookgate rpc` and clients that break it: garbage, floods, pipes closed in the middle of a turn with extensions."""

from __future__ import annotations

import json
import os
import random
import signal
from pathlib import Path

import pytest
import trio

from tests.cli.program import DEADLINE_S, none_left, processes_of
from tests.cli.rpc_client import one, open_rpc, scripted, types
from tests.cli.zot.zot_folders import extension
from tests.flow.zot.zot_rules import alone, asks, command, heard, note, on, ruled, subscribe, tool, until_heard

PINGS = 5_000


async def test_garbage_is_answered_line_by_line_and_a_running_turn_goes_on(tmp_path: Path) -> None:
    dice = random.Random(7)
    lines = [dice.randbytes(dice.randrange(1, 300)).replace(b"\n", b"").replace(b"\r", b"") for _ in range(200)]
    lines = [line for line in lines if line.strip()]
    slow = ruled(tmp_path, "slow", tool("slow"), rules=(on("tool_call"),))
    async with open_rpc(scripted(tmp_path, asks("slow")), *alone(slow)) as client:
        await client.send("prompt", message="go")
        await until_heard(slow, "tool_call")
        for line in lines:
            await client.raw(line)
        refused = [await client.until("response") for _ in range(len(lines) + 1)]
        errors = [frames[-1].get("error", "") for frames in refused[1:]]
        assert len([error for error in errors if error.startswith("malformed json: ")]) == len(lines)
        assert (await client.ask("get_state"))["data"]["busy"]
        await client.send("abort")
        assert types(await client.done())[-2:] == ["tool_result", "done"]
        assert await client.ends() == 0


async def test_every_command_of_a_flood_is_answered_in_order(tmp_path: Path) -> None:
    folder = ruled(tmp_path, "ext", command("do"))
    async with open_rpc(scripted(tmp_path), *alone(folder)) as client, trio.open_nursery() as nursery:
        await client.send("prompt", message="up?")
        await client.done()
        flood = b"".join(b'{"type":"ping","id":%d}\n' % number for number in range(PINGS))
        nursery.start_soon(client.raw, flood + b'{"type":"prompt","id":"last","message":"still there?"}')
        for number in range(PINGS):
            assert (await client.next())["id"] == number
        frames = await client.done()
        assert (frames[0]["id"], types(frames)[-1]) == ("last", "done")


async def test_more_extension_commands_than_can_wait_are_refused(tmp_path: Path) -> None:
    folder = ruled(tmp_path, "ext", command("hang"), rules=(on("command_invoked"),))
    async with open_rpc(scripted(tmp_path), *alone(folder)) as client:
        await client.send("ext_command", name="hang")
        await until_heard(folder, "command_invoked")
        for number in range(70):
            await client.send("ext_command", id=number, name="hang")
        refused = (await client.until("response"))[-1]
        assert (refused["id"], refused["error"]) == (64, "too many commands wait already")


@pytest.mark.parametrize("closed", ["stdin", "stdout", "both"])
async def test_a_client_that_goes_in_the_middle_of_a_turn_leaves_no_process(tmp_path: Path, closed: str) -> None:
    folder = ruled(tmp_path, "ext", tool("slow"), subscribe(events=("turn_end",)), rules=(on("tool_call"),))
    stubborn = extension(tmp_path, "stubborn", mode="stubborn")
    async with open_rpc(scripted(tmp_path, asks("slow")), *alone(folder, stubborn)) as client:
        await client.send("prompt", message="go")
        await until_heard(folder, "tool_call")
        if closed in ("stdout", "both"):
            await client.stdout.aclose()
        if closed in ("stdin", "both"):
            await client.stdin.aclose()
        if closed == "stdin":
            # What was asked for is finished first; here that is never, so the extension is killed.
            os.kill(int(next(pid for pid in processes_of(folder.parent) if _is(pid, "program.py"))), signal.SIGKILL)
            assert "disconnected" in one(await client.done(), "tool_result")["content"][0]["text"]
        assert await client.exits() == (0 if closed == "stdin" else 1)
    await none_left(tmp_path)


def _is(pid: int, program: str) -> bool:
    return program.encode() in Path(f"/proc/{pid}/cmdline").read_bytes()


async def test_a_line_without_its_end_counts_at_the_end_of_stdin(tmp_path: Path) -> None:
    async with open_rpc(scripted(tmp_path), "--no-ext") as client:
        with trio.fail_after(DEADLINE_S):
            await client.stdin.send_all(json.dumps({"type": "prompt", "id": "1", "message": "half"}).encode())
        assert await client.ends() == 0
        assert types(await client.rest())[-1] == "done"


async def test_notes_of_one_extension_are_cleared_by_itself_alone(tmp_path: Path) -> None:
    wipe = on(
        "command_invoked", {"type": "clear_notes"}, {"type": "command_response", "id": "{id}", "action": "noop"}
    )
    a = ruled(tmp_path, "a", command("wipe"), note("of a"), rules=(wipe,))
    b = ruled(tmp_path, "b", note("of b"))
    async with open_rpc(scripted(tmp_path), *alone(a, b)) as client:
        await client.send("ext_command", name="wipe")
        frames = await client.until("response")
        cleared = [frame for frame in frames if frame["type"] == "ext_clear_notes"]
        assert cleared == [{"type": "ext_clear_notes", "extension": "a"}]
        assert await client.ends() == 0


async def test_a_stranger_without_the_token_moves_no_extension(tmp_path: Path) -> None:
    folder = ruled(tmp_path, "ext", command("do"), tool("city"))
    env = {"ZOTCORE_RPC_TOKEN": "s3cret"}
    async with open_rpc(scripted(tmp_path, asks("city")), *alone(folder), env=env) as client:
        for type, members in (("prompt", {"message": "go"}), ("ext_command", {"name": "do"}), ("panel_key", {})):
            answer = await client.ask(type, **members)
            assert answer["error"] == "auth required: send hello with token first"
        await client.send("hello", token="wrong")
        assert await client.exits() == 1
        assert client.stderr.decode().splitlines()[-1] == "hookgate: rpc: bad auth token"
    assert heard(folder, "command_invoked") + heard(folder, "tool_call") == []
    await none_left(tmp_path)
