"""A WebSocket to a platform: opened, written to and closed each within a time. The only module of the channels that
knows the library. Knows no platform, and opens nothing again."""

from __future__ import annotations

import math
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from urllib.parse import urlsplit

import trio
from trio_websocket import ConnectionClosed, ConnectionRejected, WebSocketConnection, wrap_client_stream

from hookgate.network.causes import unreached
from hookgate.network.https import trust_store

CONNECT_S = 15.0
SEND_S = 10.0
CLOSE_S = 3.0
SAY_S = 0.1
MAX_MESSAGE = 32 << 20
WAITING = 16
"""Messages that have come and nobody has taken; after more of them nothing is read."""
NO_CODE = 1006
"""It broke off without a word."""
Wire = trio.SocketStream | trio.SSLStream[trio.SocketStream]


class SocketClosed(Exception):
    """It is over, or never began. `code`: what the other side has closed it with, else NO_CODE."""

    def __init__(self, why: str, code: int = NO_CODE) -> None:
        super().__init__(why)
        self.why, self.code = why, code


class Socket:
    """Raises SocketClosed once it is over, whoever has ended it."""

    def __init__(self, connection: WebSocketConnection) -> None:
        self._connection = connection

    async def receive(self, within_s: float = math.inf) -> str:
        """The next message."""
        with trio.move_on_after(within_s):
            try:
                message = await self._connection.get_message()
            except ConnectionClosed as closed:
                raise _closed(closed) from None
            return message if isinstance(message, str) else message.decode("utf-8", "replace")
        raise SocketClosed(f"nothing came within {within_s:g} s")

    async def send(self, text: str) -> None:
        """A side that reads nothing for SEND_S is gone."""
        with trio.move_on_after(SEND_S):
            try:
                await self._connection.send_message(text)
            except ConnectionClosed as closed:
                raise _closed(closed) from None
            return
        raise SocketClosed(f"it took nothing for {SEND_S:g} s")

    async def ping(self, within_s: float) -> None:
        """Returns once the other side has answered."""
        with trio.move_on_after(within_s):
            try:
                await self._connection.ping()
            except ConnectionClosed as closed:
                raise _closed(closed) from None
            return
        raise SocketClosed(f"it did not answer a ping within {within_s:g} s")

    async def close(self, code: int = 1000) -> None:
        """Says so, cancelled or not; waits for the other side no longer than CLOSE_S."""
        with trio.move_on_after(_patience_s(), shield=True):
            await self._connection.aclose(code)


@asynccontextmanager
async def open_socket(url: str, code: int = 1000) -> AsyncGenerator[Socket]:
    """`code`: what it is closed with in the end. Raises SocketClosed where it cannot be opened; what is raised inside
    leaves as it is."""
    deadline = trio.current_time() + CONNECT_S
    stream, host, resource = await _stream(url, deadline)
    try:
        async with _reading() as nursery:
            connection = await _shaken(nursery, stream, host, resource, deadline)
            try:
                yield Socket(connection)
            finally:
                with trio.move_on_after(_patience_s(), shield=True):
                    await connection.aclose(code)
    finally:
        await trio.aclose_forcefully(stream)


def _patience_s() -> float:
    """For the other side's word. Who is cancelled reads no more, and would wait in vain. Outside of any shield."""
    return CLOSE_S if trio.current_effective_deadline() > trio.current_time() else SAY_S


@asynccontextmanager
async def _reading() -> AsyncGenerator[trio.Nursery]:
    """For the library's reader, which raises too; one exception leaves, no group."""
    failed: BaseException | None = None
    try:
        async with trio.open_nursery() as nursery:
            try:
                yield nursery
            except trio.Cancelled:
                raise
            except BaseException as error:
                failed = error
            nursery.cancel_scope.cancel()
    except BaseExceptionGroup as group:
        _, of_reader = group.split(trio.Cancelled)
        if of_reader is None:
            raise
        failed = failed or SocketClosed(_meaning(of_reader.exceptions[0]))
    if failed is not None:
        raise failed


async def _stream(url: str, deadline: float) -> tuple[Wire, str, str]:
    """Connected; with the host and the resource that it is for. Raises SocketClosed."""
    host, port, resource, secure = _address(url)
    with trio.move_on_at(deadline):
        try:
            connected = await trio.open_tcp_stream(host, port)
            stream = await _proven(connected, host) if secure else connected
        except OSError as error:
            raise SocketClosed(unreached(error)) from None
        return stream, host if port in (80, 443) else f"{host}:{port}", resource
    raise SocketClosed(f"it did not accept a connection within {CONNECT_S:g} s")


async def _proven(stream: trio.SocketStream, host: str) -> Wire:
    """Raises SocketClosed."""
    tls = trio.SSLStream(stream, trust_store(tls=True), server_hostname=host, https_compatible=True)
    try:
        await tls.do_handshake()
    except trio.BrokenResourceError:
        await trio.aclose_forcefully(stream)
        raise SocketClosed("it could not prove who it is (TLS failed)") from None
    except BaseException:
        await trio.aclose_forcefully(stream)
        raise
    return tls


async def _shaken(
    nursery: trio.Nursery, stream: Wire, host: str, resource: str, deadline: float
) -> WebSocketConnection:
    """Raises SocketClosed."""
    with trio.move_on_at(deadline):
        return await wrap_client_stream(
            nursery, stream, host, resource, message_queue_size=WAITING, max_message_size=MAX_MESSAGE
        )
    raise SocketClosed(f"it did not accept a connection within {CONNECT_S:g} s")


def _address(url: str) -> tuple[str, int, str, bool]:
    """Raises SocketClosed."""
    try:
        to = urlsplit(url)
        host, port = to.hostname, to.port
    except ValueError:
        raise SocketClosed("it names no address of a socket") from None
    if not host or to.scheme not in ("ws", "wss"):
        raise SocketClosed("it names no address of a socket")
    secure = to.scheme == "wss"
    resource = f"{to.path or '/'}?{to.query}" if to.query else to.path or "/"
    return host, port or (443 if secure else 80), resource, secure


def _meaning(error: BaseException) -> str:
    """Of what the library's reader has raised."""
    if isinstance(error, ConnectionRejected):
        return f"it wants no socket: status {error.status_code}"
    return "it broke the connection"


def _closed(closed: ConnectionClosed) -> SocketClosed:
    if closed.reason is None or closed.reason.code == NO_CODE:
        return SocketClosed("it broke the connection")
    said = f": {closed.reason.reason}" if closed.reason.reason else ""
    return SocketClosed(f"it closed the connection with {closed.reason.code}{said}"[:300], closed.reason.code)
