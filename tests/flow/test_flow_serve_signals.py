"""The gateway as a program, and what signals ask of it: to read its configuration, to end in order, to end now."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager, closing, suppress
from pathlib import Path

import httpx
import trio

from hookgate.store.journal import open_journal
from hookgate.store.journal.operators.listing import read_sessions
from hookgate.store.journal.operators.looking import open_look
from hookgate.store.journal.operators.whereabouts import find_messages
from tests.cli.program import PLUGINS, none_left, run
from tests.serve.gateway import configured
from tests.serve.started import DEADLINE_S, says, serving, until

SCRIPT = json.dumps(
    {
        "steps": [
            {"when": "note", "calls": [{"name": "bash", "arguments": {"command": "echo once >> notes.txt"}}]},
            {"when": "wait", "calls": [{"name": "bash", "arguments": {"command": "cat gate"}}]},
            {"when": "forever", "text": "I begin", "hang": True},
            {"on": "tool", "when": "(?s).*", "text": "It is done."},
        ]
    }
)
PAGE = """
[channels.web]
kind = "web"
[gateway]
drain_s = 3600
"""
CHANGED = f"""
[agents.poet]
system = "Rhyme."
[[routes]]
channels = ["web"]
agent = "poet"
[people.boss]
ids = ["web:owner"]
[[approvals]]
tools = ["bash"]
approvers = ["boss"]
self_approval = true
[hooks.processes.audit]
command = {json.dumps([sys.executable, str(PLUGINS / "audit_log.py")])}
observe = ["turn_end"]
[log]
level = "info"
"""
SLOW = f"""
[hooks.defaults]
hello_timeout_ms = 3600000
[hooks.processes.slow]
command = {json.dumps([sys.executable, "-c", "import sys; sys.stdin.read()"])}
intercept = ["before_tool"]
"""


@asynccontextmanager
async def listening(place: Path) -> AsyncGenerator[trio.socket.SocketType]:
    """The service manager's socket."""
    with trio.socket.socket(trio.socket.AF_UNIX, trio.socket.SOCK_DGRAM) as told:
        await told.bind(str(place))
        yield told


async def say(client: httpx.AsyncClient, chat: str, text: str) -> None:
    assert (await client.post(f"/api/chats/{chat}/messages", json=says(text))).status_code == 202


async def answered(client: httpx.AsyncClient, chat: str) -> None:
    await until(
        client, f"/api/chats/{chat}", lambda it: it["messages"] and it["messages"][-1]["text"] == "It is done."
    )


async def reloaded(process: trio.Process, told: trio.socket.SocketType) -> None:
    process.send_signal(signal.SIGHUP)
    began, _, at = (await told.recv(100)).partition(b"\n")
    assert (began, at.partition(b"=")[0]) == (b"RELOADING=1", b"MONOTONIC_USEC")
    assert await told.recv(100) == b"READY=1"


async def test_sighup_takes_over_what_can_change_and_nothing_of_a_broken_file(tmp_path: Path) -> None:
    configured(tmp_path, PAGE, SCRIPT)
    socket = tmp_path / "notify"
    with trio.fail_after(DEADLINE_S):
        async with listening(socket) as told, serving(tmp_path, NOTIFY_SOCKET=str(socket)) as (process, client):
            assert await told.recv(100) == b"READY=1"
            await say(client, "before", "write a note")
            await answered(client, "before")

            configured(tmp_path, PAGE + CHANGED, SCRIPT)
            await reloaded(process, told)
            assert (await client.get("/ready")).json()["hooks"] == {"audit": "ok"}
            await say(client, "after", "write a note")
            [card] = await until(client, "/api/approvals", bool)
            assert (await client.post(f"/api/approvals/{card['id']}", json={"approved": True})).json()["counted"]
            await answered(client, "after")

            (tmp_path / "hookgate.toml").write_text("[")
            await reloaded(process, told)
            await say(client, "still", "write a note")
            await until(client, "/api/approvals", bool)
            configured(tmp_path, PAGE + SLOW, SCRIPT)
            process.send_signal(signal.SIGHUP)
            assert (await told.recv(100)).startswith(b"RELOADING=1")
            # The new hook still has an hour to say hello.
            process.send_signal(signal.SIGINT)
            assert await told.recv(100) == b"STOPPING=1"
            assert await process.wait() == 0
    await none_left(tmp_path)
    log = (tmp_path / "stderr").read_text()
    assert log.count("[warning") == log.count("reloaded, but what changed in log counts only after a restart") == 1
    assert "not_reloaded" in log
    assert (tmp_path / "notes.txt").read_text() == "once\nonce\n"
    with open_look(tmp_path / "state" / "journal.db") as tables:
        agents = {it.conversation.session: it.conversation.agent for it in read_sessions(tables)}
    assert agents == {"web:owner:before": "main", "web:owner:after": "poet", "web:owner:still": "poet"}


async def test_sigterm_waits_for_what_runs_and_a_second_one_for_nothing(tmp_path: Path) -> None:
    configured(tmp_path, PAGE, SCRIPT)
    os.mkfifo(tmp_path / "gate")
    with trio.fail_after(DEADLINE_S):
        async with serving(tmp_path) as (process, client):
            await say(client, "c1", "wait for me")
            gate = await trio.to_thread.run_sync(os.open, tmp_path / "gate", os.O_WRONLY)
            other = await run(tmp_path, "serve")
            assert other.returncode == 1
            said = other.stderr.decode()
            assert f"{tmp_path}/state/journal.db is in use by another hookgate (process " in said
            assert "journal or url below [store]" in said
            process.send_signal(signal.SIGTERM)
            while (await client.get("/ready")).json()["stopping"] is False:
                await trio.sleep(0.02)
            late = await client.post("/api/chats/c2/messages", json=says("too late"))
            assert late.status_code == 202
            os.close(gate)
            assert await process.wait() == 0
        with open_look(tmp_path / "state" / "journal.db") as tables:
            [found] = find_messages(tables, "M1")
            assert [it.what for it in found.passages][-2:] == ["answered", "delivered"]
            # What came meanwhile is stored: the next start answers it.
            [waiting] = find_messages(tables, "")
            assert [it.what for it in waiting.passages] == ["accepted"]
        async with serving(tmp_path) as (process, client):
            await until(client, "/api/chats/c2", lambda it: not it["running"] and len(it["messages"]) > 1)
            await say(client, "c3", "go on forever")
            await until(client, "/api/chats/c3", lambda it: it["running"])
            # Twice at once is one that a whole process group is sent.
            while process.poll() is None:
                process.send_signal(signal.SIGTERM)
                with suppress(httpx.TransportError):
                    await client.get("/health")
                await trio.sleep(0.1)
            # Or of the next signal, which came when it had let go of them.
            assert process.returncode in (0, -signal.SIGTERM, 128 + signal.SIGTERM)
    await none_left(tmp_path)


def another_programs(file: Path) -> None:
    with closing(sqlite3.connect(file)) as other:
        other.execute("CREATE TABLE theirs (a)")


async def test_a_journal_that_cannot_be_had_is_refused_by_name_and_stays_as_it_is(tmp_path: Path) -> None:
    async def refused(name: str, why: str) -> None:
        folder = tmp_path / name
        before = (folder / "state" / "journal.db").read_bytes()
        ended = await run(folder, "serve")
        assert (ended.returncode, ended.stdout) == (1, b"")
        assert f"{folder}/state/journal.db {why}" in ended.stderr.decode()
        assert (folder / "state" / "journal.db").read_bytes() == before

    cases = {
        "damaged": "is damaged or no database",
        "another": "is the database of another program",
        "locked": "is locked by another process",
        "readonly": "cannot be written",
    }
    for name in cases:
        (tmp_path / name / "state").mkdir(parents=True)
        configured(tmp_path / name)
    (tmp_path / "damaged" / "state" / "journal.db").write_bytes(b"not a database at all" * 100)
    another_programs(tmp_path / "another" / "state" / "journal.db")
    for name in ("locked", "readonly"):
        async with open_journal(tmp_path / name / "state" / "journal.db"):
            pass
    (tmp_path / "readonly" / "state" / "journal.db").chmod(0o400)
    if os.geteuid() == 0:
        # Root may write it.
        del cases["readonly"]
    with closing(sqlite3.connect(tmp_path / "locked" / "state" / "journal.db", isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        async with trio.open_nursery() as nursery:
            for name, why in cases.items():
                nursery.start_soon(refused, name, why)
