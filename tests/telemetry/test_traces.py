"""Traces of turns, sent to a collector that reads them with OpenTelemetry's own protocol buffers."""

from __future__ import annotations

import json
import subprocess
from collections.abc import AsyncGenerator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
import trio
import trio.testing
from starlette.responses import Response

from hookgate.channels.http.server import Receive, Scope, Send, serve_http
from hookgate.config import ConfigError
from hookgate.operations.approvals import decide
from hookgate.operations.status import status
from hookgate.protocol.approval import Decision
from hookgate.protocol.chat import Chat, Inbound
from hookgate.serve.run import Served
from hookgate.telemetry import otlp
from hookgate.telemetry.otlp import Collector, Exporter
from hookgate.telemetry.spans import INTERNAL, Span
from tests.processes import line_of
from tests.serve.gateway import configured, open_served
from tests.telemetry.others import HERE, PYTHON, skip_without_others

MORE = """
[channels.page]
kind = "web"
[telemetry]
traces = "http://127.0.0.1:{port}"
headers_env = "TRACE_HEADERS"
content = {content}
[[approvals]]
tools = ["ls"]
"""
SCRIPT = '{"steps": [{"when": "list", "calls": [{"name": "ls", "arguments": {}}]}]}'
TRACE, PARENT = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.fixture(autouse=True)
def _readers() -> None:
    skip_without_others()


class Receiving:
    def __init__(self, process: trio.Process, port: int) -> None:
        self._process, self.port = process, port

    async def spans(self, until: str) -> list[dict[str, Any]]:
        """Those that have come, the last one of this name."""
        found = list[dict[str, Any]]()
        while not found or found[-1]["name"] != until:
            assert self._process.stdout is not None
            found += map(json.loads, (await line_of(self._process.stdout)).splitlines())
        return found


@asynccontextmanager
async def collecting(port: int = 0, statuses: Sequence[int] = ()) -> AsyncGenerator[Receiving]:
    command = [str(PYTHON), str(HERE / "collector.py"), str(port), *map(str, statuses)]
    with trio.fail_after(120):
        process = await trio.lowlevel.open_process(command, stdout=subprocess.PIPE)
        assert process.stdout is not None
        try:
            yield Receiving(process, int(await line_of(process.stdout)))
        finally:
            process.kill()
            with trio.CancelScope(shield=True):
                await process.wait()
                await process.stdout.aclose()


async def asked(served: Served, **headers: str) -> None:
    """Of the page, in a request; the call that it leads to is allowed by a person."""
    token = served.runtime.pages["page"].token
    async with httpx.AsyncClient(base_url=f"http://{served.address}") as client:
        assert (await client.post("/api/login", json={"token": token})).status_code == 204
        headers["x-csrf-token"] = (await client.get("/api/me")).json()["csrf"]
        said = {"key": "k", "text": "list my secret things"}
        assert (await client.post("/api/chats/c/messages", json=said, headers=headers)).is_success
    approvals = served.runtime.agent.approvals
    while not (pending := await approvals.pending()):
        await trio.sleep(0.01)
    await decide(approvals, pending[0].id, Decision(True, "operator"))


async def test_a_turn_is_a_trace_of_all_that_happens_in_it_within_that_of_the_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACE_HEADERS", "x-token=a%20key, x-other=1")
    async with collecting() as collector:
        settings = configured(tmp_path, MORE.format(port=collector.port, content="false"), SCRIPT)
        async with open_served(settings) as served:
            await asked(served, traceparent=f"00-{TRACE}-{PARENT}-01")
            spans = await collector.spans("invoke_agent main")
            assert (await status(served.runtime)).problems == ()
    turn = spans[-1]
    assert {it["trace"] for it in spans} == {TRACE}
    assert {it["parent"] for it in spans[:-1]} == {turn["id"]}
    assert (turn["parent"], turn["token"], turn["error"]) == (PARENT, "a key", "")
    assert turn["service"]["service.name"] == "hookgate"
    assert turn["attributes"] == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "main",
        "gen_ai.conversation.id": "page:owner:c",
        "hookgate.channel": "page",
        "hookgate.turn.status": "completed",
        "hookgate.turn.steps": "2",
    }
    names = [it["name"] for it in spans]
    assert (names.count("chat m"), names.count("execute_tool ls"), names.count("approval ls")) == (2, 1, 1)
    model = next(it for it in spans if it["name"] == "chat m")
    assert model["attributes"]["gen_ai.provider.name"] == "p"
    approval = next(it for it in spans if it["name"] == "approval ls")
    assert (approval["attributes"]["hookgate.approval.approved"], approval["took"] > 0) == (True, True)
    assert all(it["took"] >= 0 for it in spans)
    assert "secret" not in json.dumps(spans)


async def test_a_call_that_a_person_has_stopped_is_one_that_was_cancelled(tmp_path: Path) -> None:
    waits = {"name": "bash", "arguments": {"command": "tail -n 0 -f script.json"}}
    chat = Chat("page", "c", "ann")
    async with collecting() as collector:
        more = MORE.format(port=collector.port, content="false").replace("headers_env", "# headers_env")
        settings = configured(tmp_path, more, json.dumps({"steps": [{"calls": [waits]}]}))
        async with open_served(settings) as served:
            await served.runtime.gateway.receive(Inbound(chat, "wait", message_id="1"))
            while (doing := served.runtime.telemetry.turns.doing(chat.session_key)) is None or doing.what != "tool":
                await trio.sleep(0.01)
            await served.runtime.gateway.receive(Inbound(chat, "/stop", message_id="2"))
            spans = await collector.spans("invoke_agent main")
    assert [it["error"] for it in spans if it["name"] == "execute_tool bash"] == ["cancelled"]


async def test_what_was_said_goes_along_where_that_is_wanted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRACE_HEADERS", "x-any=1")
    async with collecting() as collector:
        settings = configured(tmp_path, MORE.format(port=collector.port, content="true"), SCRIPT)
        async with open_served(settings) as served:
            await asked(served, traceparent="00-not-one")
            spans = await collector.spans("invoke_agent main")
    turn = spans[-1]
    assert (turn["parent"], len(turn["trace"])) == ("", 32)
    [message] = json.loads(turn["attributes"]["gen_ai.input.messages"])
    assert message == {"role": "user", "parts": [{"type": "text", "content": "list my secret things"}]}
    call = next(it for it in spans if it["name"] == "execute_tool ls")["attributes"]
    assert isinstance(json.loads(call["gen_ai.tool.call.arguments"]), dict)
    assert "script.json" in call["gen_ai.tool.call.result"]


async def test_a_collector_that_is_away_slows_nobody_is_named_and_gets_what_waits_when_it_is_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACE_HEADERS", "x-any=1")
    monkeypatch.setattr(otlp, "EVERY_S", 0.01)
    monkeypatch.setattr(otlp, "FIRST_S", 0.01)
    monkeypatch.setattr(otlp, "LONGEST_S", 0.05)
    async with collecting() as collector:
        port = collector.port
    settings = configured(tmp_path, MORE.format(port=port, content="false"))
    async with open_served(settings) as served:
        runtime = served.runtime
        await runtime.gateway.receive(Inbound(Chat("page", "ann", "ann"), "hello", message_id="1"))
        await runtime.gateway.idle("page:ann")
        while not (problems := (await status(runtime)).problems):
            await trio.sleep(0.01)
        assert problems[0].startswith("traces cannot leave: ConnectError")
        async with collecting(port, statuses=(503, 429)) as collector:
            spans = await collector.spans("invoke_agent main")
            assert [it["name"] for it in spans if it["name"].startswith("chat")] == ["chat m"]
            while (await status(runtime)).problems:
                await trio.sleep(0.01)


@pytest.mark.parametrize("headers", ["nothing", "=b", "a=%0Ab", "a=ä"])
async def test_headers_that_no_request_can_have_are_a_mistake_of_the_configuration(
    headers: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRACE_HEADERS", headers)
    settings = configured(tmp_path, MORE.format(port=9, content="false"))
    refused = pytest.RaisesExc(ConfigError, match="write TRACE_HEADERS as name=value,name=value")
    with pytest.RaisesGroup(refused, flatten_subgroups=True, allow_unwrapped=True):
        async with open_served(settings):
            raise AssertionError("it was opened")


async def test_what_is_too_much_or_refused_for_good_is_lost_and_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "MOST_WAITING", 3)
    monkeypatch.setattr(otlp, "EVERY_S", 0.01)
    span = Span(TRACE, PARENT, "", "chat m", INTERNAL, 1, 2, {"a": 1, "b": 0.5, "c": True, "d": "text"})
    async with collecting(statuses=(400,)) as collector:
        exporter = Exporter(Collector(f"http://127.0.0.1:{collector.port}"))
        for _ in range(5):
            exporter.take(span)
        assert exporter.lost == 2
        async with trio.open_nursery() as nursery:
            nursery.start_soon(exporter.run)
            while exporter.lost < 5:
                await trio.sleep(0.01)
            assert exporter.why == "it answered with 400"
            exporter.take(span)
            [read] = await collector.spans("chat m")
            assert read["attributes"] == {"a": "1", "b": 0.5, "c": True, "d": "text"}
            nursery.cancel_scope.cancel()
    assert (exporter.sent, exporter.lost, exporter.why) == (1, 5, "")


async def test_what_a_collector_says_of_itself_is_believed_within_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(otlp, "EVERY_S", 0.01)
    monkeypatch.setattr(otlp, "FIRST_S", 0.01)
    monkeypatch.setattr(otlp, "LONGEST_S", 0.05)
    span = Span(TRACE, PARENT, "", "chat m", INTERNAL, 1, 2, {})
    answers = [(503, "9" * 400, b"{}"), (200, "", b'{"partialSuccess": {"rejectedSpans": "-5"}}')]

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        status_, wait, body = answers.pop(0)
        await Response(body, status_, {"retry-after": wait})(scope, receive, send)

    async def serve(task_status: trio.TaskStatus[str]) -> None:
        await serve_http(app, "127.0.0.1:0", started=task_status.started, stop=trio.Event())

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:
            address = await nursery.start(serve)
            exporter = Exporter(Collector(f"http://{address}"))
            exporter.take(span)
            nursery.start_soon(exporter.run)
            while not exporter.sent:
                await trio.sleep(0.01)
            nursery.cancel_scope.cancel()
    assert (exporter.sent, exporter.lost, exporter.why) == (1, 0, "")


async def test_what_waits_at_the_end_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    span = Span(TRACE, PARENT, "", "chat m", INTERNAL, 1, 2, {})
    async with collecting() as collector:
        exporter = Exporter(Collector(f"http://127.0.0.1:{collector.port}"))
        async with trio.open_nursery() as nursery:
            nursery.start_soon(exporter.run)
            await trio.testing.wait_all_tasks_blocked()
            exporter.take(span)
            nursery.cancel_scope.cancel()
        assert len(await collector.spans("chat m")) == 1
