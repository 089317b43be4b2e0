"""An MCP server over HTTP in plain bytes on loopback, bent as a test likes; it remembers what it was sent."""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from typing import Any, cast

import trio

from hookgate.tools.mcp.server import ServerSpec
from tests.tools.website import reply as reply


@dataclass(frozen=True)
class Asked:
    method: str
    path: str
    headers: dict[str, str]
    body: dict[str, Any]


Bend = Callable[[Asked, trio.SocketStream], Awaitable[bool]]
"""Answers a request itself and says so, or leaves it to the site."""


@dataclass
class Site:
    """Sends the whole truth unless `bend` does otherwise. `seen` has every request."""

    bend: Bend | None = None
    session: str = ""
    port: int = 0
    seen: list[Asked] = field(default_factory=list)

    def spec(self, **given: Any) -> ServerSpec:
        given = {"url": f"http://127.0.0.1:{self.port}/mcp", "allow_private": True, **given}
        return ServerSpec("web", "http", **given)

    async def answer(self, stream: trio.SocketStream) -> None:
        with suppress(trio.BrokenResourceError, trio.ClosedResourceError):
            asked = await _asked(stream)
            if asked is None:
                return
            self.seen.append(asked)
            if self.bend is None or not await self.bend(asked, stream):
                await stream.send_all(self._reply(asked))

    def _reply(self, asked: Asked) -> bytes:
        if asked.method != "POST":
            return reply(405)
        if "id" not in asked.body:
            return reply(202)
        more = {"Mcp-Session-Id": self.session} if self.session else {}
        return answer(asked, _result(asked.body), **more)


def _result(body: dict[str, Any]) -> dict[str, Any]:
    match body["method"]:
        case "initialize":
            return {
                "protocolVersion": "2025-06-18",
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "web", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in ("echo", "slow")]}
        case _:
            return {"content": [{"type": "text", "text": json.dumps(body["params"].get("arguments", {}))}]}


def answer(asked: Asked, result: dict[str, Any], **headers: str) -> bytes:
    body = json.dumps({"jsonrpc": "2.0", "id": asked.body["id"], "result": result}).encode()
    return reply(200, body, Content_Type="application/json", **headers)


async def _asked(stream: trio.SocketStream) -> Asked | None:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = await stream.receive_some(65536)
        if not chunk:
            return None
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
    while len(body) < int(headers.get("content-length", "0")):
        body += await stream.receive_some(65536)
    method, path, _ = first.split()
    return Asked(method, path, headers, json.loads(body) if body else {})


@asynccontextmanager
async def serving(
    bend: Bend | None = None, session: str = "", tls: ssl.SSLContext | None = None
) -> AsyncGenerator[Site]:
    site = Site(bend, session)

    async def served(stream: trio.SocketStream) -> None:
        inside = trio.SSLStream(stream, tls, server_side=True, https_compatible=True) if tls is not None else stream
        async with stream:
            await site.answer(cast("trio.SocketStream", inside))

    async with trio.open_nursery() as nursery:
        listeners = await nursery.start(_served, served)
        site.port = listeners[0].socket.getsockname()[1]
        yield site
        nursery.cancel_scope.cancel()


async def _served(
    handler: Callable[[trio.SocketStream], Awaitable[None]], task_status: trio.TaskStatus[list[trio.SocketListener]]
) -> None:
    await trio.serve_tcp(handler, 0, host="127.0.0.1", task_status=task_status)
