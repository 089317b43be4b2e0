"""Streams of events as answers to a call."""

from __future__ import annotations

import json
from typing import Any

import pytest
import trio
import trio.testing

from tests.tools.mcp.benches import opened
from tests.tools.mcp.web import Asked, reply, serving

STREAM = b"Content-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def sse(*messages: dict[str, Any], identity: str = "") -> bytes:
    name = f"id: {identity}\n" if identity else ""
    return b"".join(f"{name}event: message\ndata: {json.dumps(it)}\n\n".encode() for it in messages)


def result(asked: Asked) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": asked.body["id"], "result": {"content": [{"type": "text", "text": "done"}]}}


def calls(asked: Asked) -> bool:
    return asked.body.get("method") == "tools/call"


def told(text: str) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "method": "notifications/message", "params": {"level": "info", "data": text}}


async def start(stream: trio.SocketStream) -> None:
    await stream.send_all(b"HTTP/1.1 200 OK\r\n" + STREAM)


async def test_what_is_told_during_a_call_arrives_before_its_answer() -> None:
    async def streams(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await start(stream)
            await stream.send_all(sse(told("half way")) + sse(result(asked)))
        return calls(asked)

    async with serving(streams) as site, opened(site.spec()) as bench:
        assert (await bench.call("web__slow")).for_llm.endswith("\ndone")
        await bench.until(lambda: len(bench.heard) == 1)
        assert bench.heard[0][2].endswith("\nhalf way")


async def test_an_answer_counts_although_the_stream_stays_open() -> None:
    async def open_ended(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await start(stream)
            answer = b": soon\r\n\r\n" + sse(result(asked)).replace(b"\n", b"\r\n")
            for piece in (answer[:30], answer[30:]):
                await stream.send_all(piece)
                await trio.testing.wait_all_tasks_blocked(0.01)
            await trio.sleep_forever()
        return calls(asked)

    async with serving(open_ended) as site, opened(site.spec()) as bench:
        with trio.fail_after(20):
            assert (await bench.call("web__slow")).for_llm.endswith("\ndone")


async def test_a_request_of_the_servers_is_declined_and_the_call_goes_on() -> None:
    answers: list[dict[str, Any]] = []
    answered = trio.Event()

    async def asks(asked: Asked, stream: trio.SocketStream) -> bool:
        if asked.method == "POST" and "method" not in asked.body:
            answers.append(asked.body)
            await stream.send_all(reply(202))
            if len(answers) == 2:
                answered.set()
            return True
        if calls(asked):
            await start(stream)
            for number, method in enumerate(("sampling/createMessage", "ping")):
                await stream.send_all(sse({"jsonrpc": "2.0", "id": f"q{number}", "method": method, "params": {}}))
            await answered.wait()
            await stream.send_all(sse(result(asked)))
        return calls(asked)

    async with serving(asks) as site, opened(site.spec()) as bench:
        assert (await bench.call("web__slow")).for_llm.endswith("\ndone")
    assert answers[0]["error"]["code"] == -32601
    assert answers[1] == {"jsonrpc": "2.0", "id": "q1", "result": {}}


async def test_a_stream_that_breaks_off_is_taken_up_where_it_has_a_name() -> None:
    call: list[Asked] = []

    async def resumed(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            call.append(asked)
            await start(stream)
            await stream.send_all(b"id: e1\nretry: 10\ndata:\n\n")
            return True
        if asked.method == "GET" and asked.headers.get("last-event-id") == "e1":
            await start(stream)
            await stream.send_all(sse(result(call[0])))
            return True
        return False

    async with serving(resumed) as site, opened(site.spec()) as bench:
        assert (await bench.call("web__slow")).for_llm.endswith("\ndone")


async def test_a_stream_that_breaks_off_without_a_name_fails_the_call() -> None:
    async def broken(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await start(stream)
            await stream.send_all(b"data: {")
        return calls(asked)

    async with serving(broken) as site, opened(site.spec()) as bench:
        failed = await bench.call("web__slow")
        assert failed.error is not None
        assert (failed.error.kind, "its answer broke off" in failed.for_llm) == ("transient", True)


@pytest.mark.parametrize("told", [b"id: \xc3\xa9\n", b"id: e1\nretry: " + b"9" * 400 + b"\n"])
async def test_what_no_header_and_no_clock_can_hold_fails_the_call_alone(told: bytes) -> None:
    async def odd_names(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked) or asked.method == "GET":
            await start(stream)
            await stream.send_all(told + b"data:\n\n")
        return calls(asked) or asked.method == "GET"

    async with serving(odd_names) as site, opened(site.spec()) as bench:
        assert "its answer broke off" in (await bench.call("web__slow")).for_llm
        assert (await bench.call("web__echo")).for_llm
        assert (bench.status("web").state, bench.status("web").restarts) == ("up", 0)


@pytest.mark.parametrize("argument", ["x", "subscriptions/listen"])
async def test_a_stream_that_never_ends_is_not_kept(argument: str) -> None:
    async def endless(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await start(stream)
            await stream.send_all(b"data: ")
            while True:
                await stream.send_all(b"x" * 1_000_000)
        return False

    async with serving(endless) as site, opened(site.spec()) as bench:
        assert "more than 16777216 bytes" in (await bench.call("web__slow", of=argument)).for_llm


async def test_a_flood_on_the_stream_that_a_server_has_for_itself_ends_the_connection() -> None:
    async def floods(asked: Asked, stream: trio.SocketStream) -> bool:
        if asked.method == "GET":
            await start(stream)
            while True:
                await stream.send_all(sse(told("x" * 1_000_000)))
        return False

    async with serving(floods, session="s") as site, opened(site.spec()) as bench:
        await bench.until(lambda: "unasked-for messages" in bench.status("web").error)


async def test_junk_in_a_stream_is_skipped() -> None:
    async def junk(asked: Asked, stream: trio.SocketStream) -> bool:
        if calls(asked):
            await start(stream)
            await stream.send_all(b"data: hello\n\ndata: [1]\n\nevent: other\ndata: {}\n\n" + sse(result(asked)))
        return calls(asked)

    async with serving(junk) as site, opened(site.spec()) as bench:
        assert (await bench.call("web__slow")).for_llm.endswith("\ndone")
