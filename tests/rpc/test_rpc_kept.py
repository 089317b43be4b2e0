"""`hookgate rpc --session` and `--continue`: what was said is there again, and what was cut off is done first."""

from __future__ import annotations

import os
import signal
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from tests.cli.rpc_client import Frame, one, open_rpc, scripted, types
from tests.processes import running, until

KEPT = '[store]\njournal = "journal.db"\n'
APPROVED = f'{KEPT}[[approvals]]\nname = "ask"\ntools = ["bash"]\n'
BASH: Frame = {"name": "bash", "arguments": {"command": "echo run >> runs"}, "id": "c1"}


async def test_a_conversation_that_was_killed_at_a_question_goes_on_there_in_the_next_process(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"text": "One."}, {"calls": [BASH]}, more=APPROVED)
    async with open_rpc(folder, "--session", "notes", "--rpc-approvals") as client:
        await client.send("prompt", message="first")
        await client.done()
        await client.send("prompt", message="second")
        await client.until("approval_request")
        pid = int((folder / "journal.sessions" / "rpc" / "notes.db.lock").read_text())
        os.kill(pid, signal.SIGKILL)
        await until(lambda: pid not in [it.pid for it in running()])
    scripted(tmp_path, {"text": "Two."}, more=APPROVED)
    async with open_rpc(folder, "--continue", "--rpc-approvals") as client:
        await client.send("get_messages", id="all")
        frames = list[Frame]()
        while not {"response", "approval_request"} <= set(types(frames)):
            frames.append(await client.next())
        said = one(frames, "response")["data"]["messages"]
        assert [it["role"] for it in said] == ["user", "assistant", "user", "assistant"]
        await client.send("approve", approval=one(frames, "approval_request")["approval"], approved=True)
        frames = await client.done()
        assert (one(frames, "tool_result")["is_error"], types(frames)[-1]) == (False, "done")
    assert (folder / "runs").read_text() == "run\n"


async def test_a_message_has_the_time_at_which_it_was_said_in_whichever_start(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"text": "One."}, more=KEPT)
    async with open_rpc(folder, "--session", "notes") as client:
        await client.send("prompt", message="first")
        await client.done()
        said = (await client.ask("get_messages"))["data"]["messages"]
        assert await client.ends() == 0
    async with open_rpc(folder, "--session", "notes") as client:
        assert (await client.ask("get_messages"))["data"]["messages"] == said
    assert [it["role"] for it in said] == ["user", "assistant"]
    assert said[0]["time"] < said[1]["time"]


async def test_which_results_are_errors_is_known_in_the_next_start(tmp_path: Path) -> None:
    calls: list[Frame] = [
        {"name": "bash", "arguments": {"command": command}, "id": command}
        for command in ("true", "false", "sleep 60")
    ]
    folder = scripted(tmp_path, {"calls": calls}, more=KEPT)
    async with open_rpc(folder, "--session", "notes") as client:
        await client.send("prompt", message="first")
        while (await client.until("tool_result"))[-1]["id"] != "false":
            pass
        await client.send("abort")
        await client.done()
        said = (await client.ask("get_messages"))["data"]["messages"]
        assert await client.ends() == 0
    async with open_rpc(folder, "--session", "notes") as client:
        assert (await client.ask("get_messages"))["data"]["messages"] == said
    results = [block for it in said for block in it["content"] if block["type"] == "tool_result"]
    assert [(it["call_id"], it["is_error"]) for it in results] == [
        ("true", False),
        ("false", True),
        ("sleep 60", True),
    ]


@pytest.mark.parametrize(
    ("taken", "seen"),
    [
        (2, ["response", "error", "done"]),
        (3, ["response", "user_message", "turn_start", "assistant_start", "text_delta", "turn_end", "error", "done"]),
    ],
)
async def test_a_prompt_that_the_store_does_not_take_ends_with_an_error_that_says_so(
    tmp_path: Path, taken: int, seen: list[str]
) -> None:
    folder = scripted(tmp_path, {"text": "One."}, {"text": "Two."}, more=KEPT)
    full = (
        f"CREATE TRIGGER full BEFORE INSERT ON entries WHEN NEW.number > {taken} "
        "BEGIN SELECT RAISE(ABORT, 'the disk is full'); END"
    )
    async with open_rpc(folder, "--session", "notes") as client:
        await client.send("prompt", message="first")
        await client.done()
        with closing(sqlite3.connect(folder / "journal.sessions" / "rpc" / "notes.db", timeout=30)) as file:
            file.execute(full)
        await client.send("prompt", message="second")
        frames = await client.done()
        assert types(frames) == seen
        assert "the store failed: " in one(frames, "error")["message"]
        assert "the disk is full" in one(frames, "error")["message"]
