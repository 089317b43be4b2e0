"""A socket to a platform, whatever the other side does: every end is a SocketClosed that says what it was."""

from __future__ import annotations

import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

import pytest
import trio
from trio_websocket import ConnectionClosed, WebSocketRequest, serve_websocket

from hookgate.channels.platforms import sockets
from hookgate.channels.platforms.sockets import NO_CODE, SocketClosed, open_socket
from tests.certificates import believed, certified

Serve = Callable[[WebSocketRequest], Awaitable[None]]


@asynccontextmanager
async def serving(serve: Serve) -> AsyncGenerator[str]:
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            server = await nursery.start(serve_websocket, serve, "127.0.0.1", 0, None)
            yield f"ws://127.0.0.1:{server.port}"
            nursery.cancel_scope.cancel()


@asynccontextmanager
async def listening(serve: Callable[[trio.SocketStream], Awaitable[None]]) -> AsyncGenerator[int]:
    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            [listener] = await nursery.start(partial(trio.serve_tcp, serve, 0, host="127.0.0.1"))
            yield listener.socket.getsockname()[1]
            nursery.cancel_scope.cancel()


async def test_what_is_said_comes_back_and_the_code_is_told_whatever_ends_it() -> None:
    told, over = list[int](), trio.Event()

    async def echo(request: WebSocketRequest) -> None:
        connection = await request.accept()
        try:
            while True:
                await connection.send_message(await connection.get_message())
        except ConnectionClosed as closed:
            told.append(closed.reason.code if closed.reason else 0)
            over.set()

    async with serving(echo) as url:
        try:
            async with open_socket(f"{url}/?v=10", 4000) as socket:
                await socket.send("hello")
                assert await socket.receive(5) == "hello"
                with pytest.raises(SocketClosed, match="nothing came within"):
                    await socket.receive(0.01)
                raise ZeroDivisionError
        except ZeroDivisionError:
            pass
        await over.wait()
        assert told == [4000]


async def test_the_other_sides_code_and_word_are_told_to_both_ways() -> None:
    async def close(request: WebSocketRequest) -> None:
        connection = await request.accept()
        await connection.aclose(4014, "Disallowed intent(s).")

    async with serving(close) as url, open_socket(url) as socket:
        with pytest.raises(SocketClosed, match=r"4014: Disallowed") as closed:
            await socket.receive()
        assert closed.value.code == 4014
        with pytest.raises(SocketClosed, match="4014"):
            await socket.send("more")


async def test_a_side_that_wants_none_says_nothing_or_is_not_there_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(request: WebSocketRequest) -> None:
        await request.reject(403, body=b"no")

    async def silent(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await trio.sleep_forever()

    async def no_tls(stream: trio.SocketStream) -> None:
        await stream.send_all(b"HTTP/1.1 400 no\r\n\r\n")

    async def opening(url: str) -> SocketClosed:
        try:
            async with open_socket(url):
                raise AssertionError
        except SocketClosed as closed:
            return closed

    async with serving(refuse) as url:
        assert (await opening(url)).why == "it wants no socket: status 403"
    async with listening(no_tls) as port:
        assert (await opening(f"wss://127.0.0.1:{port}")).why == "it could not prove who it is (TLS failed)"
    assert (await opening(f"ws://127.0.0.1:{port}")).why == "it cannot be reached: Connection refused"
    assert (
        (await opening("https://example.org")).why
        == (await opening("ws://[")).why
        == "it names no address of a socket"
    )
    monkeypatch.setattr(sockets, "CONNECT_S", 0.2)
    async with listening(silent) as port:
        failed = await opening(f"ws://127.0.0.1:{port}")
        assert (failed.why, failed.code) == ("it did not accept a connection within 0.2 s", NO_CODE)


async def test_a_side_that_does_not_close_and_one_that_does_not_read_hold_up_nothing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sockets, "CLOSE_S", 0.2)
    monkeypatch.setattr(sockets, "SEND_S", 0.2)

    async def stuck(request: WebSocketRequest) -> None:
        await request.accept()
        await trio.sleep_forever()

    async with serving(stuck) as url, open_socket(url) as socket:
        failed = ""
        while not failed:
            try:
                await socket.send("x" * 900_000)
            except SocketClosed as closed:
                failed = closed.why
        assert failed == "it took nothing for 0.2 s"


async def test_whoever_is_cancelled_says_so_and_waits_for_nobody(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sockets, "CLOSE_S", 1000.0)
    told, over = list[int](), trio.Event()

    async def hear(request: WebSocketRequest) -> None:
        with pytest.raises(ConnectionClosed) as closed:
            await (await request.accept()).get_message()
        told.append(closed.value.reason.code if closed.value.reason else 0)
        over.set()

    async with serving(hear) as url:
        with trio.CancelScope() as scope:
            async with open_socket(url, 4000):
                scope.cancel()
        await over.wait()
    assert told == [4000]


async def test_a_socket_trusts_whom_requests_trust(tmp_path: Path) -> None:
    key, certificate = certified(tmp_path, "localhost")
    server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    server.load_cert_chain(certificate, key)

    async def close(request: WebSocketRequest) -> None:
        connection = await request.accept()
        await connection.aclose(4000)

    with trio.fail_after(20):
        async with trio.open_nursery() as nursery:
            found = await nursery.start(serve_websocket, close, "127.0.0.1", 0, server)
            with pytest.raises(SocketClosed, match="TLS failed"):
                async with open_socket(f"wss://localhost:{found.port}"):
                    pass
            with believed(certificate):
                async with open_socket(f"wss://localhost:{found.port}") as socket:
                    with pytest.raises(SocketClosed, match="4000"):
                        await socket.receive()
            nursery.cancel_scope.cancel()
