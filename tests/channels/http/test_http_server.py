"""The HTTP server against what strangers send, and what they do not read."""

from __future__ import annotations

import json
import socket
import struct
from base64 import b64decode
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx
import pytest
import trio

from hookgate.channels.http import server
from hookgate.channels.http.server import STREAMS, Receive, Scope, Send, serve_http
from tests.channels.web.pouring import pour

TABLE = Path(__file__).parents[2] / "conformance" / "http-malformed.jsonl"
MALFORMED = [json.loads(line) for line in TABLE.read_text().splitlines()]


async def app(scope: Scope, receive: Receive, send: Send) -> None:
    if scope["path"] == "/raise":
        raise RuntimeError("of the application's own")
    if scope["path"] == "/hang":
        with trio.move_on_after(60) as waiting:
            scope[STREAMS].add(waiting)
            await trio.sleep_forever()
    await send({"type": "http.response.start", "status": 200, "headers": [(b"content-type", b"text/plain")]})
    if scope["path"] == "/opened":
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        while (await receive())["type"] != "http.disconnect":
            pass
    if scope["path"] == "/flood":
        while True:
            await send({"type": "http.response.body", "body": b"x" * 65_536, "more_body": True})
    await send({"type": "http.response.body", "body": b"here"})


@asynccontextmanager
async def served() -> AsyncIterator[str]:
    """Ends by being told so, in time."""
    stop, addresses = trio.Event(), list[str]()
    opened = trio.Event()

    def started(address: str) -> None:
        addresses.append(address)
        opened.set()

    with trio.fail_after(60):
        async with trio.open_nursery() as nursery:

            async def serve() -> None:
                await serve_http(app, "127.0.0.1:0", started=started, stop=stop)

            nursery.start_soon(serve)
            await opened.wait()
            yield addresses[0]
            stop.set()
            began = trio.current_time()
        assert trio.current_time() - began < server.GRACE_S + 5


async def sent(address: str, data: bytes) -> trio.SocketStream:
    host, _, port = address.partition(":")
    stream = await trio.open_tcp_stream(host, int(port))
    await stream.send_all(data)
    return stream


async def answered(address: str) -> str:
    stream = await sent(address, b"GET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
    async with stream:
        return "".join([bytes(piece).decode() async for piece in stream])


@pytest.mark.parametrize("manner", ["left open", "reset", "half-closed"])
async def test_after_each_malformed_request_the_next_one_is_answered_and_the_program_ends_when_told(
    manner: str,
) -> None:
    assert len(MALFORMED) == 67
    left: list[trio.SocketStream] = []
    async with served() as address:
        for request in MALFORMED:
            try:
                stream = await sent(address, b64decode(request["bytes"]))
                left.append(stream)
                if manner == "half-closed":
                    await stream.send_eof()
                elif manner == "reset":
                    stream.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
                    await stream.aclose()
            except (trio.BrokenResourceError, OSError):
                pass  # it has been refused before it was whole
            assert (await answered(address)).endswith("\r\nhere\r\n0\r\n\r\n"), request["name"]
    for stream in left:
        await stream.aclose()


async def test_who_stops_reading_is_cut_and_holds_up_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "SEND_S", 0.2)
    async with served() as address:
        stream = await sent(address, b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
        with trio.fail_after(30), pytest.raises(trio.BrokenResourceError):
            await stream.send_all(b"x" * 100_000_000)
        await stream.aclose()
    async with served() as address:
        stream = await sent(address, b"GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")
    await stream.aclose()


async def test_who_sends_no_whole_head_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "HEAD_S", 0.2)
    async with served() as address:
        stream = await sent(address, b"GET / HTTP/1.1\r\nHo")
        with trio.fail_after(30):
            assert await stream.receive_some() == b""
        await stream.aclose()


async def test_a_body_that_nobody_reads_ends_its_connection_after_the_answer() -> None:
    async with served() as address, httpx.AsyncClient() as client:
        answer = await pour(client, f"http://{address}/")
        assert (answer.status_code, answer.text, answer.headers["connection"]) == (200, "here", "close")


async def test_a_failure_is_that_of_its_request() -> None:
    async with served() as address, httpx.AsyncClient() as client:
        assert (await client.get(f"http://{address}/raise")).status_code == 500
        assert (await client.get(f"http://{address}/")).text == "here"


async def test_the_head_of_a_stream_that_has_nothing_to_say_yet_is_there() -> None:
    async with served() as address:
        stream = await sent(address, b"GET /opened HTTP/1.1\r\nHost: x\r\n\r\n")
        async with stream:
            head = b""
            while not head.endswith(b"\r\n\r\n"):
                head += await stream.receive_some()
    assert head.startswith(b"HTTP/1.1 200")


async def test_the_answer_to_a_head_is_its_head_and_the_connection_goes_on() -> None:
    async with served() as address:
        asked = b"HEAD / HTTP/1.1\r\nHost: x\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
        stream = await sent(address, asked)
        async with stream:
            came = b"".join([bytes(piece) async for piece in stream])
    first, second, body = came.split(b"\r\n\r\n", 2)
    assert first.startswith(b"HTTP/1.1 200")
    assert second.startswith(b"HTTP/1.1 200")
    assert b"here" in body
