"""`hookgate acp` line by line: what is no request, who leaves in the middle, and that nothing is left of it."""

from __future__ import annotations

import json
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
import trio

from hookgate.acp.service import USUAL
from tests.acp.editors import Frame, Pipe, open_pipe, scripted
from tests.cli.program import hook
from tests.cli.rpc_client import open_rpc
from tests.preloaded import preloaded
from tests.processes import none_left, processes_of

ODD = Path(__file__).parents[1] / "tools" / "mcp" / "servers" / "odd.py"
PROMPT: Frame = {"sessionId": "none", "prompt": [{"type": "text", "text": "hi"}]}


def line(**members: Any) -> bytes:
    return json.dumps({"jsonrpc": "2.0", **members}).encode()


BAD: tuple[tuple[bytes, int | str | None, int, str], ...] = (
    (b"{", None, -32700, "not JSON"),
    (b"\xff\xfe", None, -32700, "not JSON"),
    (b"[]", None, -32600, "no batches"),
    (b"[" + line(id=1, method="session/list") + b"]", None, -32600, "no batches"),
    (b'"hello"', None, -32600, "an object"),
    (line(id=True, method="session/list"), None, -32600, "id"),
    (b'{"id":4,"method":"session/list"}', 4, -32600, "jsonrpc"),
    (line(id="a", method=7), "a", -32600, "method"),
    (line(id=5), 5, -32600, "neither"),
    (line(id=6, method="session/list", params=[]), 6, -32602, "params"),
    (line(id=7, method="session/fork", params={}), 7, -32601, "no method 'session/fork'"),
    (line(id=8, method="authenticate", params={"methodId": "key"}), 8, -32602, "nobody has to"),
    (line(id=9, method="initialize", params={"protocolVersion": 1}), 9, -32600, "already"),
    (line(id=10, method="session/new", params={"cwd": "/"}), 10, -32602, "mcpServers"),
    (line(id=11, method="session/new", params={"cwd": 1, "mcpServers": []}), 11, -32602, "cwd"),
    (line(id=12, method="session/new", params={"cwd": ".", "mcpServers": []}), 12, -32602, "absolute path"),
    (line(id=13, method="session/new", params={"cwd": "/nowhere", "mcpServers": []}), 13, -32602, "of a folder"),
    (line(id=14, method="session/prompt", params=PROMPT), 14, -32002, "no session 'none' is open"),
    (line(id=15, method="session/prompt", params={**PROMPT, "prompt": "hi"}), 15, -32602, "prompt"),
    (line(id=16, method="session/prompt", params={**PROMPT, "prompt": [{"type": "audio"}]}), 16, -32602, "prompt.0"),
    (
        line(id=17, method="session/load", params={"sessionId": "../x", "cwd": "/", "mcpServers": []}),
        17,
        -32002,
        "no",
    ),
    (line(id=18, method="session/load", params={"sessionId": "x", "cwd": "/", "mcpServers": []}), 18, -32002, "no"),
    (line(id=19, method="session/list", params={"cursor": "next"}), 19, -32602, "cursor"),
    (line(id=20, method="session/set_mode", params={"sessionId": "x", "modeId": "y"}), 20, -32002, "no session"),
    (line(id=22, method="session/delete", params={"sessionId": "x"}), 22, -32002, "no session"),
    (line(id=21, method="session/close", params={"sessionId": "x"}), 21, -32002, "no session"),
)


async def test_what_is_no_request_is_answered_with_what_is_wrong_and_the_next_is_read(tmp_path: Path) -> None:
    folder = scripted(tmp_path, {"text": "Here."})
    async with open_pipe(tmp_path) as pipe:
        for given, id_, code, why in BAD:
            await pipe.client.raw(given)
            answer = await pipe.client.next()
            assert (answer["id"], answer["error"]["code"]) == (id_, code), given
            assert why in answer["error"]["message"], given
        # Nobody waits for an answer to these.
        await pipe.send(method="session/cancel", params={"sessionId": 7})
        await pipe.send(method="session/cancel", params={"sessionId": "none"})
        await pipe.send(method="$/anything")
        await pipe.send(id=999, result={})
        await pipe.send(id="1", error={"code": 1, "message": "no"})
        session = await pipe.new(folder)
        await pipe.client.raw(line(id=99, method="session/prompt", params={"x": "y" * (20 << 20)}))
        answer = await pipe.answer(None)
        assert "a line of 209" in answer["error"]["message"]
        assert "nothing in it" in (await pipe.answer(await pipe.prompt(session, " ")))["error"]["message"]
        first = await pipe.prompt(session, "hello")
        second = await pipe.prompt(session, "hello")
        assert (await pipe.answer(second))["error"]["code"] == -32600
        assert (await pipe.answer(first))["result"] == {"stopReason": "end_turn"}
        again = await pipe.ask("session/load", sessionId=session, cwd=str(folder), mcpServers=[])
        assert "open already" in again["error"]["message"]
        assert "close it first" in (await pipe.ask("session/delete", sessionId=session))["error"]["message"]
        assert (await pipe.ask("session/close", sessionId=session))["result"] == {}
        assert [it["sessionId"] for it in (await pipe.ask("session/list"))["result"]["sessions"]] == [session]
        assert (await pipe.ask("session/delete", sessionId=session))["result"] == {}
        assert (await pipe.ask("session/list"))["result"] == {"sessions": []}
        assert await pipe.client.ends() == 0


async def test_a_picture_without_data_is_refused(tmp_path: Path) -> None:
    folder = scripted(tmp_path)
    async with open_pipe(tmp_path) as pipe:
        session = await pipe.new(folder)
        empty = {"type": "image", "mimeType": "image/png", "data": ""}
        answer = await pipe.ask("session/prompt", sessionId=session, prompt=[{"type": "text", "text": "see"}, empty])
        assert answer["error"]["message"].endswith("prompt.1: a picture in base64 with a mimeType image/...")


@pytest.mark.parametrize("version", [2, 0, "0.4"])
async def test_a_peer_of_another_version_is_told_ours_and_its_person_is_told_too(
    tmp_path: Path, version: Any
) -> None:
    scripted(tmp_path)
    async with open_pipe(tmp_path, greets=False) as pipe:
        refused = await pipe.ask("session/new", cwd=str(tmp_path), mcpServers=[])
        assert refused["error"] == {"code": -32600, "message": "initialize comes first"}
        assert (await pipe.ask("initialize", protocolVersion=version))["result"]["protocolVersion"] == 1
        assert f"speaks version {version}" in await pipe.client.warned("speaks 1")
        assert await pipe.client.ends() == 0


ASKS: Frame = {"calls": [{"name": "bash", "arguments": {"command": "touch ran"}, "id": "c1"}]}
RULE = '[[approvals]]\ntools = ["bash"]\n'


async def asked(pipe: Any, folder: Path) -> tuple[int, Frame]:
    """The prompt's id, and the question that it leads to."""
    session = await pipe.new(folder)
    return await pipe.prompt(session, "go"), await pipe.until("session/request_permission")


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (None, "nobody answered within 0.3 s"),
        ({"result": {"outcome": {"outcome": "selected", "optionId": "everything"}}}, "was none"),
        ({"result": {"outcome": {"outcome": "cancelled"}}}, "closed without an answer"),
        ({"result": True}, "was none"),
        ({"error": {"code": -32601, "message": "what?"}}, "with an error: what?"),
    ],
)
async def test_nothing_but_a_yes_that_was_offered_lets_a_call_run(tmp_path: Path, answer: Any, why: str) -> None:
    ttl = "ttl_s = 0.3\n" if answer is None else ""
    folder = scripted(tmp_path, ASKS, {"text": "Then not."}, more=RULE + ttl)
    async with open_pipe(tmp_path) as pipe:
        prompt, question = await asked(pipe, folder)
        if answer is not None:
            await pipe.send(id=question["id"], **answer)
        heard = list[Frame]()
        while (frame := await pipe.client.next()).get("id") != prompt:
            heard.append(frame)
        assert frame["result"] == {"stopReason": "end_turn"}
        assert why in json.dumps(heard)
        # Late, and for nothing.
        yes = {"outcome": {"outcome": "selected", "optionId": "once"}}
        await pipe.send(id=question["id"], result=yes)
        assert await pipe.client.ends() == 0
    assert not (folder / "ran").exists()


async def test_nothing_is_left_of_an_editor_that_leaves_at_a_question(tmp_path: Path) -> None:
    """By closing either pipe."""
    folder = scripted(tmp_path, ASKS, more=RULE + hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
    for pipe_of in ("stdin", "stdout"):
        command = (sys.executable, "-m", "hookgate", "acp")
        async with open_pipe(tmp_path, command=command) as pipe:
            await asked(pipe, folder)
            assert processes_of(tmp_path / "guard.py")
            stream: trio.abc.AsyncResource = getattr(pipe.client, pipe_of)
            await stream.aclose()
            assert await pipe.client.exits() == 0
        await none_left(tmp_path)
    assert not (folder / "ran").exists()


async def test_a_signal_at_a_question_ends_it_in_order_and_leaves_nothing(tmp_path: Path) -> None:
    folder = scripted(tmp_path, ASKS, more=RULE + hook(tmp_path, "guard", 'intercept = ["before_tool"]'))
    async with open_pipe(tmp_path, command=(sys.executable, "-m", "hookgate", "acp")) as pipe:
        await asked(pipe, folder)
        assert processes_of(tmp_path / "guard.py")
        pipe.client.process.send_signal(signal.SIGTERM)
        assert await pipe.client.exits() == 128 + signal.SIGTERM
        assert "Traceback" not in pipe.client.stderr.decode()
        await pipe.client.rest()  # whole frames up to the end
    await none_left(tmp_path)
    assert not (folder / "ran").exists()


async def test_a_session_that_cannot_be_opened_is_refused_and_ends_nothing_else(tmp_path: Path) -> None:
    """A hook that is required and does not come up is the session's end, not the program's."""
    broken = f'[hooks.processes.broken]\ncommand = ["{sys.executable}", "-c", ""]\nrequired = true\n'
    broken += 'intercept = ["before_tool"]\n'
    folder = scripted(tmp_path, {"text": "Here."}, more=broken)
    async with open_pipe(tmp_path) as pipe:
        refused = await pipe.ask("session/new", cwd=str(folder), mcpServers=[])
        assert refused["error"]["code"] == -32603
        assert "broken" in refused["error"]["message"]
        assert (await pipe.ask("session/list"))["result"] == {"sessions": []}
        assert await pipe.client.ends() == 0
    # Nothing was said, so nothing is kept.
    assert list((tmp_path / ".local" / "state" / "hookgate" / "journal.sessions" / "acp").iterdir()) == []


async def test_mcp_servers_of_the_editor_are_behind_the_gate_and_what_is_left_out_is_said(tmp_path: Path) -> None:
    pair = {"name": "X-Key", "value": "1"}
    servers: list[Frame] = [
        {"name": "My Odd-Server", "command": sys.executable, "args": [str(ODD), "good"], "env": [pair]},
        {"type": "sse", "name": "old", "url": "http://127.0.0.1:9/sse", "headers": []},
        {"type": "http", "name": "keyed", "url": "http://127.0.0.1:9/mcp", "headers": [pair]},
        {"name": "7", "command": "true", "args": [], "env": []},
    ]
    calls = [{"name": "my_odd_server__echo", "arguments": {"text": "over there"}, "id": "c1"}]
    rule = '[[approvals]]\ntools = ["my_odd_server__*"]\n'
    folder = scripted(tmp_path, {"calls": calls}, {"text": "So it says."}, more=rule)
    async with open_pipe(tmp_path) as pipe:
        session = (await pipe.ask("session/new", cwd=str(folder), mcpServers=servers))["result"]["sessionId"]
        notes = [(await pipe.until("session/update"))["params"]["update"] for _ in range(4)][1:]
        said = [it["content"]["text"] for it in notes]
        assert [why in it for why, it in zip(("SSE", "headers", "begin with a letter"), said, strict=True)] == [
            True
        ] * 3
        prompt = await pipe.prompt(session, "go")
        question = (await pipe.until("session/request_permission"))["params"]
        assert "over there" in json.dumps(question["toolCall"]["content"])
        await pipe.send(id=1, result={"outcome": {"outcome": "selected", "optionId": "once"}})
        heard = list[Frame]()
        while (frame := await pipe.client.next()).get("id") != prompt:
            heard.append(frame)
        assert '"status": "completed"' in json.dumps(heard)
        assert await pipe.client.ends() == 0
    await none_left(tmp_path)


async def test_without_a_named_configuration_none_is_believed_and_changes_are_asked_about(tmp_path: Path) -> None:
    (tmp_path / "hookgate.toml").write_text('[agent]\nmodel = "strangers/model"\n')
    async with open_rpc(tmp_path, command=(*preloaded(), "acp"), env={"OPENAI_API_KEY": "sk-none"}) as client:
        pipe = Pipe(client)
        await pipe.ask("initialize", protocolVersion=1)
        assert await pipe.new(tmp_path)
        assert "is not believed" in await client.warned("--config")
        assert await client.ends() == 0
    assert [it.tools for it in USUAL.approvals] == [("bash", "write", "edit")]
