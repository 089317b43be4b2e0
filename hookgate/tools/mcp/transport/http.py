"""An MCP server over streamable HTTP: only to checked addresses, past no proxy, with limits on time and size.

Knows no tool. Everything that the SDK would let bring a connection down, or keep one open for ever, ends here.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from functools import partial
from typing import TYPE_CHECKING

import trio

from hookgate.network.causes import is_tls
from hookgate.network.https import CONNECT_S
from hookgate.protocol.framing import MAX_MESSAGE_BYTES
from hookgate.tools.mcp.server import ServerSpec
from hookgate.tools.mcp.transport.answers import CLOSED, bounded, members, refusal
from hookgate.tools.mcp.transport.endpoint import Endpoint, checked
from hookgate.tools.mcp.transport.tap import ReadTap, Tap, WriteTap

if TYPE_CHECKING:
    import httpx2
    from mcp.client._transport import TransportStreams

NOTICE_S = 5.0
"""How long the server may take to accept a notification, while everything else waits behind it."""
GRACE_S = 30.0
"""How much longer than a call's own deadline its connection is kept, so that the deadline speaks first."""
MAX_REDIRECTS = 5
MAX_NOTICE_BYTES = 1 << 16
_OF_ONE_MESSAGE = ("content-length", "content-type", "transfer-encoding", "mcp-method", "mcp-name")


@asynccontextmanager
async def open_http(spec: ServerSpec, tap: Tap) -> AsyncGenerator[TransportStreams]:
    """The two streams of a connection. Raises ConnectFailed for a URL that may not be used; a server that cannot
    be reached shows at the first request, and ends the tap."""
    import httpx2
    from mcp.client.streamable_http import streamable_http_client

    from hookgate.network.https import trust_store

    endpoint = await checked(spec.url, spec.token, spec.allow_private)
    trust = await trio.to_thread.run_sync(partial(trust_store, tls=spec.url.startswith("https:")))
    route = _Route(spec, endpoint, tap, httpx2.AsyncHTTPTransport(verify=trust, trust_env=False))
    headers = {"User-Agent": "hookgate", "Accept-Encoding": "identity"}
    if spec.token is not None:
        headers["Authorization"] = f"Bearer {spec.token}"
    async with (
        httpx2.AsyncClient(
            transport=_transport(route), headers=headers, trust_env=False, max_redirects=MAX_REDIRECTS, timeout=None
        ) as client,
        streamable_http_client(spec.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as (read, write),
    ):
        yield ReadTap(read, tap), WriteTap(write, tap)


class _Route:
    """Where the requests of one connection go: to the checked addresses of its host, in turn."""

    def __init__(self, spec: ServerSpec, endpoint: Endpoint, tap: Tap, inner: httpx2.AsyncBaseTransport) -> None:
        self.inner = inner
        self._spec, self._endpoint, self._tap = spec, endpoint, tap

    async def answered(self, request: httpx2.Request) -> httpx2.Response:
        import httpx2

        if request.url.host != self._endpoint.host:
            # The SDK follows no redirect to another host; should it ever, the token stays here.
            raise httpx2.ConnectError("that host was never checked")
        notice = _is_notice(await request.aread())
        # A call's own deadline comes first: it cancels the call and leaves the connection.
        with trio.move_on_after(NOTICE_S if notice else self._spec.timeout_s + GRACE_S):
            return await self._sent(request)
        return httpx2.Response(202, request=request) if notice else refusal(request, CLOSED, "it did not answer")

    async def _sent(self, request: httpx2.Request) -> httpx2.Response:
        import httpx2

        patience = None if request.method == "GET" else self._spec.timeout_s + GRACE_S
        limits = httpx2.Timeout(CONNECT_S, read=patience, write=patience, pool=CONNECT_S)
        why = f"{self._endpoint.host} cannot be reached"
        for address in self._endpoint.addresses:
            try:
                response = await self.inner.handle_async_request(_addressed(request, address, limits))
            except (httpx2.ConnectError, httpx2.ConnectTimeout) as error:
                if is_tls(error):
                    why = f"{self._endpoint.host} could not prove who it is (TLS failed)"
                continue
            if response.status_code == 404 and "mcp-session-id" in request.headers:
                self._tap.ending.end("the server has forgotten this connection")
            return await bounded(request, response, self._tap, _Sender(self, request))
        self._tap.ending.end(why)
        raise httpx2.ConnectError(why)


class _Sender:
    """Requests beside the one that waits: to the same place, with the same identity."""

    def __init__(self, route: _Route, like: httpx2.Request) -> None:
        self._route, self._like = route, like
        self._headers = {name: value for name, value in like.headers.items() if name not in _OF_ONE_MESSAGE}

    async def post(self, body: bytes) -> None:
        import httpx2

        headers = {**self._headers, "content-type": "application/json"}
        request = httpx2.Request("POST", self._like.url, headers=headers, content=body)
        response = await self._route.answered(request)
        await response.aclose()

    async def resume(self, event_id: str) -> httpx2.Response:
        import httpx2

        headers = {**self._headers, "accept": "text/event-stream", "last-event-id": event_id}
        return await self._route.answered(httpx2.Request("GET", self._like.url, headers=headers))


def _transport(route: _Route) -> httpx2.AsyncBaseTransport:
    """The class is made here because its base comes with the SDK."""
    import httpx2

    class Checked(httpx2.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
            return await route.answered(request)

        async def aclose(self) -> None:
            await route.inner.aclose()

    return Checked()


def _addressed(request: httpx2.Request, address: str, limits: httpx2.Timeout) -> httpx2.Request:
    """The same request to a checked address; name and certificate are those of the URL."""
    import httpx2

    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={
            **request.extensions,
            "sni_hostname": request.url.raw_host.decode("ascii"),
            "timeout": limits.as_dict(),
        },
    )


def _is_notice(body: bytes) -> bool:
    """Whether this is a message that has no answer: a notification, or our answer to a request of the server's."""
    if not body or len(body) > MAX_NOTICE_BYTES:
        return False
    message = members(body)
    return bool(message) and not ("id" in message and "method" in message)
