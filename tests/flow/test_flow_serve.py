"""The gateway as a program, over real HTTP: a person's yes that a crash does not lose, and what a stop leaves."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
from pathlib import Path
from typing import Any

import httpx
import trio

from tests.cli.program import none_left, run
from tests.processes import line_of
from tests.serve.gateway import configured
from tests.serve.started import DEADLINE_S, says, serving, until

RPC = re.compile(r"rpc: URL=(\S+) KEY=(\S+)\n")
PROGRAMS = re.compile(r"api: (OPENAI_.+)\n")
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


async def test_the_demo_opens_a_page_where_a_call_waits_for_whoever_has_its_token(tmp_path: Path) -> None:
    with trio.fail_after(DEADLINE_S):
        async with serving(tmp_path, "demo", "--web") as (process, client):
            assert process.stdout is not None
            [card] = await until(client, "/api/approvals", bool)
            await is_found_from_elsewhere(tmp_path)
            assert "deploy.sh --dry-run" in json.dumps(card)
            # Whoever has the token of a gateway without operators is one.
            assert (await client.get("/ops/api/now")).json()["counts"]["approvals"] == 1
            assert "hookgate_approvals_waiting 1.0" in (await client.get("/metrics")).text
            assert (await client.post(f"/api/approvals/{card['id']}", json={"approved": True})).json()["counted"]
            fine = "3 files would be copied"
            found = await until(client, "/api/chats/demo", lambda it: fine in json.dumps(it["messages"]))
            assert {it["hook"] for message in found["messages"] for it in message["trace"]} >= {"approve", "guard"}
            shown = (tmp_path / "shown").read_text()
            while not (RPC.search(shown) and PROGRAMS.search(shown)):
                shown += (await line_of(process.stdout)).decode()
            assert await asked_as_openai(shown, str(client.base_url)) == "Let me look.\n\nIn Oslo it is 20 °C, clear."
            assert await calls_its_own_tool(shown) == "This is what came back:\nhalf past nine"
            assert await asked_by_rpc(shown, "hooks.list")
            assert (await asked_by_rpc(shown, "status"))["config"] == "the demo"
            refused = await asked_by_rpc(shown, "hooks.reload", "error")
            assert "the demo has no configuration file" in refused["message"]
            process.send_signal(signal.SIGINT)
            assert await process.wait() == 0
    await none_left(tmp_path)


async def is_found_from_elsewhere(home: Path) -> None:
    """Where a message is, from a folder without a configuration, and what to type in one that has its own."""
    empty, other = home / "empty", home / "other"
    for folder in (empty, other):
        folder.mkdir()
    (other / "hookgate.toml").write_text('[agent]\nmodel = "p/m"\n[providers.p]\nkind = "openai"\n')
    found = await run(empty, "where", "Deploy the", home=home)
    assert "held up, and waits for a person" in found.stdout.decode(), found.stderr
    assert found.stderr.startswith(
        b"note: no hookgate of this configuration file or workspace is running; the one at "
    )
    away = await run(other, "where", "Deploy the", home=home)
    assert (away.returncode, away.stdout) == (1, b"")
    typed = away.stderr.decode().strip().rpartition("with the demo: ")[2]
    said, *rest = shlex.split(typed)
    assert (said, rest[:2]) == ("hookgate", ["where", "Deploy the"])
    assert (await run(other, *rest, home=home)).stdout == found.stdout
    nobody = await run(empty, "where", "Deploy the", home=empty)
    assert b"no gateway that can be asked runs here as this user" in nobody.stderr


async def asked_by_rpc(shown: str, method: str, member: str = "result") -> Any:
    """What an operator's program is given by the address and key that the demo prints."""
    [found] = RPC.finditer(shown)
    async with httpx.AsyncClient(headers={"authorization": f"Bearer {found[2]}"}, timeout=DEADLINE_S) as program:
        answer = await program.post(f"{found[1]}/rpc", json={"jsonrpc": "2.0", "id": 1, "method": method})
        return answer.json()[member]


async def calls_its_own_tool(shown: str) -> str:
    """What a program reads that offers a tool, is asked to run it, and brings the result."""
    [found] = PROGRAMS.finditer(shown)
    given = dict(word.split("=", 1) for word in found[1].split())
    headers = {"authorization": f"Bearer {given['OPENAI_API_KEY']}"}
    said: list[dict[str, Any]] = [{"role": "user", "content": "what time is it?"}]
    tools = [{"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}]
    async with httpx.AsyncClient(base_url=given["OPENAI_BASE_URL"], headers=headers, timeout=DEADLINE_S) as program:
        body = {"model": "hookgate", "messages": said, "tools": tools}
        asked = (await program.post("/chat/completions", json=body)).json()["choices"][0]
        assert asked["finish_reason"] == "tool_calls"
        [call] = asked["message"]["tool_calls"]
        said += [asked["message"], {"role": "tool", "tool_call_id": call["id"], "content": "half past nine"}]
        answer = (await program.post("/chat/completions", json=body)).json()
        return answer["choices"][0]["message"]["content"]


async def asked_as_openai(shown: str, address: str) -> str:
    """What a program reads that takes address and key as the demo prints them."""
    [found] = PROGRAMS.finditer(shown)
    given = dict(word.split("=", 1) for word in found[1].split())
    assert given["OPENAI_BASE_URL"] == f"{address.rstrip('/')}/v1"
    headers = {"authorization": f"Bearer {given['OPENAI_API_KEY']}"}
    async with httpx.AsyncClient(base_url=given["OPENAI_BASE_URL"], headers=headers, timeout=DEADLINE_S) as program:
        said = {"model": "hookgate", "messages": [{"role": "user", "content": "weather in Oslo"}]}
        return (await program.post("/chat/completions", json=said)).json()["choices"][0]["message"]["content"]
