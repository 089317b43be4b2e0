"""A web site on loopback, a resolver that says what it is told to, and web_fetch called through the dispatcher."""

from __future__ import annotations

import socket
import ssl
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import trio

from hookgate.protocol.values import ToolCall, ToolResult
from hookgate.tools.builtin.web_fetch import WebFetch
from hookgate.tools.dispatch import execute


@dataclass
class Site:
    """Answers each path with the bytes it is given for it; `seen` has the heads of the requests."""

    port: int = 0
    routes: dict[str, bytes] = field(default_factory=dict)
    seen: list[str] = field(default_factory=list)

    def url(self, path: str, host: str = "127.0.0.1") -> str:
        return f"http://{host}:{self.port}{path}"

    async def answer(self, stream: trio.abc.Stream) -> None:
        head = b""
        while b"\r\n\r\n" not in head:
            chunk = await stream.receive_some(65536)
            if not chunk:
                return
            head += chunk
        self.seen.append(head.decode())
        with suppress(trio.BrokenResourceError):  # by a client that has read enough
            await stream.send_all(self.routes.get(head.split()[1].decode(), reply(404, b"nothing here")))
            await stream.aclose()


def reply(status: int, body: bytes = b"", **headers: str) -> bytes:
    given = {"Content-Length": str(len(body)), "Connection": "close"}
    given |= {name.replace("_", "-"): value for name, value in headers.items()}
    lines = "".join(f"{name}: {value}\r\n" for name, value in given.items())
    return f"HTTP/1.1 {status} Status\r\n{lines}\r\n".encode() + body


def page(body: str, kind: str = "text/html; charset=utf-8") -> bytes:
    return reply(200, body.encode(), Content_Type=kind)


@asynccontextmanager
async def serving(tls: ssl.SSLContext | None = None, host: str = "127.0.0.1") -> AsyncIterator[Site]:
    site = Site()

    async def answer(stream: trio.SocketStream) -> None:
        wrapped = trio.SSLStream(stream, tls, server_side=True) if tls else stream
        with suppress(trio.BrokenResourceError):  # by a client that does not trust the certificate
            await site.answer(wrapped)

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(partial(trio.serve_tcp, answer, 0, host=host))
        site.port = listeners[0].socket.getsockname()[1]
        yield site
        nursery.cancel_scope.cancel()


class Names(trio.abc.HostnameResolver):
    """Answers names from lists, one after the other; what it is not given goes to the system."""

    def __init__(self, answers: Mapping[str, list[list[str]]]) -> None:
        self.answers, self.asked = {name: list(it) for name, it in answers.items()}, list[str]()

    async def getaddrinfo(self, host: bytes | None, port: Any, family: Any = 0, type: Any = 0, *_: Any) -> Any:
        name = (host or b"").decode()
        self.asked.append(name)
        if name not in self.answers:
            raise socket.gaierror(socket.EAI_NONAME, "unknown")
        return [(socket.AF_INET, type, 6, "", (address, port)) for address in self.answers[name].pop(0)]

    async def getnameinfo(self, sockaddr: Any, flags: int) -> Any:
        raise NotImplementedError


async def get(url: str, *, private: bool = True, **arguments: object) -> ToolResult:
    call = ToolCall("c", "web_fetch", {"url": url, **arguments})  # type: ignore[dict-item]
    with trio.fail_after(20):
        return await execute(WebFetch(allow_private=private), call)


def kind(result: ToolResult) -> str:
    assert result.is_error
    assert result.error is not None
    return result.error.kind
