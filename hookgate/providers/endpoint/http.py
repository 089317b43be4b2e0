"""JSON over HTTP to a model endpoint, and the way back: the only module of providers that knows httpx.

Imported by the first call. Knows no model API: what an event means is up to the Reading. Every failure leaves as
ProviderFailed.
"""

from __future__ import annotations

import math
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from contextlib import aclosing
from functools import cached_property
from typing import cast

import httpx
import trio

from hookgate.network.causes import cause_of, is_tls
from hookgate.network.https import CONNECT_S, Body, trust_store
from hookgate.protocol.errors import ProviderFailed, ProviderFault
from hookgate.providers.endpoint.connection import Terms
from hookgate.providers.endpoint.faults import Site
from hookgate.providers.endpoint.patience import Watch
from hookgate.providers.endpoint.sse import MAX_EVENT, Feed, Reading, parsed

MAX_ERROR_BYTES = 64 << 10
ERROR_BODY_S = 10.0
_TIMEOUT = {"timeout": httpx.Timeout(None, connect=CONNECT_S).as_dict()}
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
)
"""A model may think for minutes in silence; a machine that is gone is found out in one and a half."""


class Connections:
    """Those of one endpoint. No environment variable (proxies, certificates), no redirect and no cookie is followed:
    a call goes straight to the transport, past what a client would do for each."""

    def __init__(self, terms: Terms, site: Site) -> None:
        self.site = site
        self._terms = terms
        self._shards = _Shards(trust_store(tls=terms.tls))

    async def aclose(self) -> None:
        await self._shards.aclose()

    async def post(self, body: bytes, reading: Reading) -> None:
        """Send JSON and feed the answer to `reading`. Raises ProviderFailed; cancelling drops the connection."""
        watch = Watch(self._terms.deadlines)
        with watch.scope:
            try:
                async with aclosing(await self._shards.handle_async_request(self._request(body))) as response:
                    await self._read(response, reading, watch)
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                raise self._broken(error) from None  # the original may quote a header, and so the key
        if watch.expired and not reading.complete:
            raise self.site.failure("timeout", watch.late(), final=watch.final)

    def _request(self, body: bytes) -> httpx.Request:
        url, headers = self._head
        request = httpx.Request("POST", url, headers=headers, stream=Body(body), extensions=_TIMEOUT)
        request.headers["Content-Length"] = str(len(body))
        return request

    @cached_property
    def _head(self) -> tuple[httpx.URL, httpx.Headers]:
        """The same for all calls. Raises InvalidURL."""
        url = httpx.URL(self.site.url)
        headers = httpx.Headers({"Host": url.netloc.decode("ascii"), "Connection": "keep-alive"})
        # Packed answers would be buffered by proxies, and could grow a millionfold behind the size limits.
        headers.update({"Accept": "text/event-stream, application/json", "Accept-Encoding": "identity"})
        headers.update({"Content-Type": "application/json", "User-Agent": "hookgate"})
        headers.update(dict(self._terms.headers))
        if url.userinfo:
            said = b64encode(f"{url.username}:{url.password}".encode()).decode("ascii")
            headers["Authorization"] = f"Basic {said}"
        return url, headers

    async def _read(self, response: httpx.Response, reading: Reading, watch: Watch) -> None:
        if not response.is_success:
            raise await self._refusal(response)
        if packed := _packed(response):
            what = f"sent a packed answer (Content-Encoding: {packed[:40]}), which it was asked not to"
            raise self.site.failure("format", what)
        media_type = response.headers.get("content-type", "").partition(";")[0].strip().lower()
        match media_type:
            case "text/event-stream" | "text/plain" | "":
                await self._read_stream(response, reading, watch)
            case "application/json":
                await self._read_whole(response, reading)
            case _:
                body = await _body(response, MAX_ERROR_BYTES, ERROR_BODY_S)
                raise self.site.stranger(media_type, body)

    async def _refusal(self, response: httpx.Response) -> ProviderFailed:
        body = b"" if _packed(response) else await _body(response, MAX_ERROR_BYTES, ERROR_BODY_S)
        headers = {name.lower(): value for name, value in response.headers.items()}
        return self.site.refusal(response.status_code, headers, body, time.time())

    async def _read_whole(self, response: httpx.Response, reading: Reading) -> None:
        body = await _body(response, MAX_EVENT, math.inf)
        if len(body) > MAX_EVENT:
            raise self.site.failure("format", f"sent an answer of more than {MAX_EVENT >> 20} MiB in one piece")
        members = parsed(self.site, body)
        if members.get("error"):
            raise self.site.broken_off(members, whole=True)
        reading.take_whole(members)

    async def _read_stream(self, response: httpx.Response, reading: Reading, watch: Watch) -> None:
        feed = Feed(self.site, response, reading, watch)
        try:
            await feed.run()
        except httpx.HTTPError:
            if feed.failure is None and not feed.complete:
                raise
        if feed.failure is not None:
            raise feed.failure
        if not feed.complete:
            raise self.site.failure("network", "ended its answer without an end marker: the stream was cut")

    def _broken(self, error: Exception) -> ProviderFailed:
        kind, what = _meaning(error)
        return self.site.failure(kind, what, detail=repr(error))


def _meaning(error: Exception) -> tuple[ProviderFault, str]:
    """In words of our own: an httpx message may quote a header."""
    match error:
        case httpx.ConnectTimeout():
            return "timeout", f"did not accept a connection within {CONNECT_S:g} s"
        case httpx.ConnectError() if is_tls(error):
            return "network", "could not prove who it is (TLS failed)"
        case httpx.ConnectError():
            cause = cause_of(error)
            return "network", f"cannot be reached: {cause}" if cause else "cannot be reached"
        case httpx.ReadError() | httpx.WriteError() | httpx.RemoteProtocolError() | httpx.CloseError():
            return "network", "broke the connection: the stream was cut"
        case _:
            return "unknown", f"could not be asked ({type(error).__name__})"


def _packed(response: httpx.Response) -> str:
    """The encodings of a body that is not sent as it is; none of them is ever unpacked."""
    encoding = response.headers.get("content-encoding", "").strip().lower()
    return "" if encoding == "identity" else encoding


async def _body(response: httpx.Response, limit: int, patience_s: float) -> bytes:
    """A little more than `limit` bytes at most. What is too long or too slow is left by cancelling: a `break`
    would drop httpx's nested generators unclosed."""
    parts: list[bytes] = []
    size = 0
    with trio.move_on_after(patience_s) as scope:
        async for part in response.aiter_raw():
            parts.append(part)
            size += len(part)
            if size > limit:
                scope.cancel()
    return b"".join(parts)


class _Shard:
    def __init__(self, context: ssl.SSLContext) -> None:
        self.busy = 0
        limits = httpx.Limits(max_connections=_Shards.WIDTH, keepalive_expiry=30.0)
        self.transport = httpx.AsyncHTTPTransport(
            verify=context, trust_env=False, limits=limits, socket_options=_KEEP_ALIVE
        )


class _Shards(httpx.AsyncBaseTransport):
    """Spreads calls over small pools: in a big one each request walks over all connections, and some get one
    that the pool has just closed."""

    WIDTH = 4

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._shards: list[_Shard] = []

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        shard = self._free()
        shard.busy += 1
        try:
            response = await shard.transport.handle_async_request(request)
        except BaseException:
            shard.busy -= 1
            raise
        response.stream = _Counted(cast("httpx.AsyncByteStream", response.stream), shard)
        return response

    async def aclose(self) -> None:
        for shard in self._shards:
            await shard.transport.aclose()

    def _free(self) -> _Shard:
        for shard in self._shards:
            if shard.busy < self.WIDTH:
                return shard
        self._shards.append(_Shard(self._context))
        return self._shards[-1]


class _Counted(httpx.AsyncByteStream):
    """A body whose closing gives its place in the shard back."""

    def __init__(self, stream: httpx.AsyncByteStream, shard: _Shard) -> None:
        self._stream, self._shard, self._open = stream, shard, True

    def __aiter__(self) -> AsyncIterator[bytes]:
        return aiter(self._stream)

    async def aclose(self) -> None:
        if self._open:
            self._open = False
            self._shard.busy -= 1
        await self._stream.aclose()
