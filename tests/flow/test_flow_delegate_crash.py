"""A task that an agent has handed on when the gateway is killed: whoever comes next goes on with that very one."""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import trio

from hookgate.protocol.journal.values import Conversation
from hookgate.store.journal import open_journal
from hookgate.store.journal.operators.looking import conversation_of, open_look
from hookgate.store.journal.operators.whereabouts import find_messages
from hookgate.store.journal.transcripts import read_entries
from tests.cli.program import none_left
from tests.flow.test_flow_serve import worker
from tests.serve.gateway import configured
from tests.serve.started import DEADLINE_S, says, serving, until

HANDS = [{"name": "delegate", "arguments": {"task": "$0, please"}}]
RUNS = [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]
SCRIPT = {
    "steps": [
        {"when": "^write$", "calls": HANDS},
        {"when": "^ponder$", "calls": HANDS},
        {"when": "^write, please$", "calls": RUNS},
        {"when": "^ponder, please$", "hang": True},
        {"on": "tool", "when": "echo once", "text": "noted"},
        {"on": "tool", "when": "^noted$", "text": "It is written."},
    ]
}
MORE = """
[agents.clerk]
delegates_to = []
[channels.web]
kind = "web"
[[approvals]]
tools = ["bash"]
[gateway]
drain_s = 0.5
"""


def tasks(folder: Path) -> list[tuple[str, int, int]]:
    """Those that were handed on: the conversation's agent, how often somebody has had it, how much stands in it."""
    with open_look(folder / "state" / "journal.db") as tables:
        sql = "SELECT agent, fence, written FROM conversations WHERE instr(agent, '+') > 0"
        return [(agent, fence, written) for agent, fence, written in tables.all(sql)]


async def test_a_task_that_kill_9_cuts_off_is_gone_on_with_and_its_call_runs_once(tmp_path: Path) -> None:
    """Twice: while a person is asked, and, as it is asked again, with the button that was shown first."""
    settings = configured(tmp_path, MORE, json.dumps(SCRIPT))
    text = settings.file.read_text() if settings.file is not None else ""
    (tmp_path / "hookgate.toml").write_text(text.replace("[agent]\n", '[agent]\ndelegates_to = ["clerk"]\n'))
    with trio.fail_after(DEADLINE_S):
        async with serving(tmp_path) as (process, client):
            chat = (await client.post("/api/chats")).json()["id"]
            await client.post(f"/api/chats/{chat}/messages", json=says("write"))
            [card] = await until(client, "/api/approvals", bool)
            assert "The agent clerk wants to run bash" in json.dumps(card)
            [(begun, fence, written)] = tasks(tmp_path)
            assert begun.startswith("clerk+M")
            with open_look(tmp_path / "state" / "journal.db") as tables:
                assert [it.state for it in find_messages(tables, "")] == ["waiting"]
            os.kill(worker(process), signal.SIGKILL)
            await process.wait()
        await none_left(tmp_path)
        async with serving(tmp_path) as (process, client):
            # It has come as far as before: it waits for the same person, with the same words.
            while tasks(tmp_path)[0][1] <= fence + 1:
                await trio.sleep(0.02)
            assert [it["id"] for it in await until(client, "/api/approvals", bool)] == [card["id"]]
            assert [it[::2] for it in tasks(tmp_path)] == [(begun, written)]
            decided = await client.post(f"/api/approvals/{card['id']}", json={"approved": True})
            assert decided.json()["counted"] is True
            path = f"/api/chats/{chat}"
            await until(client, path, lambda it: "It is written." in json.dumps(it["messages"]))
            process.send_signal(signal.SIGTERM)
            assert await process.wait() == 0
    assert (tmp_path / "notes.txt").read_text() == "once\n"
    assert len(tasks(tmp_path)) == 1
    # It goes with the chat that it was done for.
    journal = tmp_path / "state" / "journal.db"
    with open_look(journal) as tables:
        [(session,)] = tables.all("SELECT session FROM conversations WHERE instr(agent, '+') = 0")
        assert len(read_entries(tables, conversation_of(tables, f"{session}/{begun}/0")[0])[0]) == 4
    async with open_journal(journal) as opened:
        await opened.books.forget(Conversation(session, "main"))
    with open_look(journal) as tables:
        assert tables.all("SELECT * FROM entries") == []


async def test_a_stop_ends_a_task_that_was_taken_up_again(tmp_path: Path) -> None:
    settings = configured(tmp_path, MORE, json.dumps(SCRIPT))
    text = settings.file.read_text() if settings.file is not None else ""
    (tmp_path / "hookgate.toml").write_text(text.replace("[agent]\n", '[agent]\ndelegates_to = ["clerk"]\n'))
    with trio.fail_after(DEADLINE_S):
        for life in range(2):
            async with serving(tmp_path) as (process, client):
                path = "/api/chats/endless"
                if not life:
                    await client.post(f"{path}/messages", json=says("ponder"))
                while not (found := tasks(tmp_path)) or found[0][1] <= 2 * life or not found[0][2]:
                    await trio.sleep(0.02)
                assert len(found) == 1
                if life == 0:
                    os.kill(worker(process), signal.SIGKILL)
                    await process.wait()
                    continue
                await client.post(f"{path}/stop")
                await until(client, path, lambda it: "Stopped." in json.dumps(it["messages"]))
                process.send_signal(signal.SIGTERM)
                assert await process.wait() == 0
    await none_left(tmp_path)
