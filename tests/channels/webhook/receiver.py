"""Whoever is told by a webhook: a server on loopback that keeps what it is sent, and answers as a test wants it."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, TypeVar

import h11
import trio

from hookgate.channels.webhook.signing import is_signed, read_head, read_secret

T = TypeVar("T")
Answering = Callable[[trio.abc.Stream], Awaitable[None]]
SECRET = "whsec_" + "A" * 43 + "="


@dataclass(frozen=True)
class Sent:
    headers: Mapping[str, str]
    body: bytes

    @property
    def event(self) -> Any:
        return json.loads(self.body)

    @property
    def id(self) -> str:
        return self.headers["webhook-id"]

    def is_signed(self, secret: str = SECRET) -> bool:
        at = float(self.headers["webhook-timestamp"])
        return is_signed([read_secret(secret)], read_head(self.headers, at), self.body)


def status(number: int, *headers: str) -> Answering:
    async def answer(stream: trio.abc.Stream) -> None:
        lines = (f"HTTP/1.1 {number} So", "content-length: 0", "connection: close", *headers, "", "")
        await stream.send_all("\r\n".join(lines).encode())

    return answer


async def hang(stream: trio.abc.Stream) -> None:
    """Until the other side has had enough."""
    await stream.receive_some(1)


async def close(stream: trio.abc.Stream) -> None:
    """In the middle of the head."""
    await stream.send_all(b"HTTP/1.1 20")


async def pour(stream: trio.abc.Stream) -> None:
    """A yes and 100 MB, or as much of it as somebody wants to have."""
    await stream.send_all(b"HTTP/1.1 200 So\r\ncontent-length: 100000000\r\n\r\n")
    for _ in range(1000):
        await stream.send_all(b"x" * 100_000)


@dataclass
class Receiver:
    """`answers`: what is answered, one after the other, then 204. `sent` is what came whole."""

    url: str
    tls: ssl.SSLContext | None = None
    answers: list[Answering] = field(default_factory=list[Answering])
    sent: list[Sent] = field(default_factory=list[Sent])

    async def until(self, wanted: Callable[[], T | None]) -> T:
        """What it gives, once that is something."""
        while not (found := wanted()):
            await trio.sleep(0.01)
        return found

    def told(self, type_: str) -> list[Any]:
        """The events of this type."""
        return [it.event for it in self.sent if it.event["type"] == type_]

    def texts(self) -> list[str]:
        return [it.event["data"]["text"] for it in self.sent if it.event["type"].startswith("hookgate.message.")]

    async def serve(self, socket: trio.SocketStream) -> None:
        stream = trio.SSLStream(socket, self.tls, server_side=True, https_compatible=True) if self.tls else socket
        async with socket:
            with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
                self.sent.append(await _read(stream))
                await (self.answers.pop(0) if self.answers else status(204))(stream)


async def _read(stream: trio.abc.Stream) -> Sent:
    connection, headers, body = h11.Connection(h11.SERVER), dict[str, str](), b""
    while True:
        match connection.next_event():
            case h11.Request() as request:
                headers = {name.decode(): value.decode() for name, value in request.headers}
            case h11.Data(data=data):
                body += bytes(data)
            case h11.EndOfMessage():
                return Sent(headers, body)
            case _:
                connection.receive_data(await stream.receive_some(65536))


@asynccontextmanager
async def open_receiver(*answers: Answering, tls: ssl.SSLContext | None = None) -> AsyncGenerator[Receiver]:
    listeners = await trio.open_tcp_listeners(0, host="127.0.0.1")
    port = listeners[0].socket.getsockname()[1]
    receiver = Receiver(f"http{'s' if tls else ''}://127.0.0.1:{port}/told", tls, list(answers))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(trio.serve_listeners, receiver.serve, listeners)
        yield receiver
        nursery.cancel_scope.cancel()
