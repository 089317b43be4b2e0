"""A client that costs next to nothing, so that what is measured is the server: a socket and bytes. Trusts it."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

import trio

from benchmarks.served.serving import PASSWORD

LENGTH = re.compile(rb"\r\ncontent-length: (\d+)\r\n", re.IGNORECASE)
COOKIE = re.compile(rb"\r\nset-cookie: ([^;\r\n]+)", re.IGNORECASE)
CSRF = re.compile(rb'"csrf":"([^"]+)"')


class Connection:
    """Kept open; one request at a time."""

    def __init__(self, stream: trio.SocketStream, place: tuple[str, int]) -> None:
        self.stream = stream
        self._place = place

    def request(self, method: str, target: str, headers: str = "", body: bytes = b"") -> bytes:
        host, port = self._place
        length = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n" if body else ""
        return f"{method} {target} HTTP/1.1\r\nhost: {host}:{port}\r\n{length}{headers}\r\n".encode() + body

    async def ask(self, request: bytes) -> tuple[int, bytes, bytes]:
        """Status, head and body."""
        await self.stream.send_all(request)
        data = bytearray()
        while (end := data.find(b"\r\n\r\n")) < 0:
            data += await self._more()
        head = bytes(data[: end + 2])
        length = LENGTH.search(head)
        whole = end + 4 + (int(length[1]) if length else 0)
        while len(data) < whole:
            data += await self._more()
        return int(head[9:12]), head, bytes(data[end + 4 :])

    async def _more(self) -> bytes:
        """Raises EOFError."""
        if not (data := await self.stream.receive_some(1 << 16)):
            raise EOFError("the server has closed the connection")
        return data


@asynccontextmanager
async def connected(host: str, port: int, source: str = "127.0.0.1") -> AsyncGenerator[Connection]:
    """`source`: the loopback address that it comes from; who logs in too often from one has to wait."""
    stream = await trio.open_tcp_stream(host, port, local_address=source)
    async with stream:
        yield Connection(stream, (host, port))


async def log_in(host: str, port: int, user: int) -> str:
    """The lines of a head that a request of this user has."""
    async with connected(host, port, f"127.0.0.{2 + user // 8}") as connection:
        body = f'{{"user":"u{user}","password":"{PASSWORD}"}}'.encode()
        status, head, _ = await connection.ask(connection.request("POST", "/api/login", body=body))
        cookie = COOKIE.search(head)
        assert status == 204, f"login was answered with {status}"
        assert cookie
        headers = f"cookie: {cookie[1].decode()}\r\n"
        _, _, me = await connection.ask(connection.request("GET", "/api/me", headers))
        csrf = CSRF.search(me)
        assert csrf
        return f"{headers}x-csrf-token: {csrf[1].decode()}\r\n"
