"""The gateway as a program, over real HTTP: a person's yes that a crash does not lose, and what a stop leaves."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import trio

from tests.cli.program import none_left
from tests.serve.gateway import configured
from tests.serve.started import DEADLINE_S, says, serving, until

SCRIPT = {
    "steps": [
        {"when": "note", "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]},
        {"when": "forever", "text": "I begin", "hang": True},
        {"on": "tool", "when": "(?s).*", "text": "It is written."},
    ]
}
CHANNEL = """
[channels.web]
kind = "web"
[[approvals]]
tools = ["bash"]
[gateway]
drain_s = 0.5
"""


def worker(process: trio.Process) -> int:
    """hookgate itself, below its guardian."""
    return int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])


async def test_an_old_button_works_after_kill_9_and_its_call_runs_once(tmp_path: Path) -> None:
    configured(tmp_path, CHANNEL, json.dumps(SCRIPT))
    with trio.fail_after(DEADLINE_S):
        async with serving(tmp_path) as (process, client):
            chat = (await client.post("/api/chats")).json()["id"]
            sent = await client.post(f"/api/chats/{chat}/messages", json=says("write a note"))
            assert sent.status_code == 202
            [card] = await until(client, "/api/approvals", bool)
            assert "echo once" in json.dumps(card)
            os.kill(worker(process), signal.SIGKILL)
            await process.wait()
        await none_left(tmp_path)
        async with serving(tmp_path) as (process, client):
            decided = await client.post(f"/api/approvals/{card['id']}", json={"approved": True})
            assert decided.json()["counted"] is True
            again = await client.post(f"/api/chats/{chat}/messages", json=says("write a note"))
            assert again.json()["known"] is True
            found = await until(
                client, f"/api/chats/{chat}", lambda it: "It is written." in json.dumps(it["messages"])
            )
            assert [it["role"] for it in found["messages"]].count("assistant") == 1
            assert (tmp_path / "notes.txt").read_text() == "once\n"
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    assert (tmp_path / "notes.txt").read_text() == "once\n"


async def test_a_turn_that_never_ends_is_cut_off_and_goes_on_with_the_next_start(tmp_path: Path) -> None:
    configured(tmp_path, CHANNEL, json.dumps(SCRIPT))
    with trio.fail_after(DEADLINE_S):
        for _start in range(2):
            async with serving(tmp_path) as (process, client):
                sent = await client.post("/api/chats/endless/messages", json=says("go on forever"))
                assert sent.status_code == 202
                chat = await until(client, "/api/chats/endless", lambda it: it["running"] and it["running"]["text"])
                assert [it["text"] for it in chat["messages"]] == ["go on forever"]
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
    await none_left(tmp_path)
