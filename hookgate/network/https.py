"""What a request over HTTP stands on, whatever it is for: whom TLS believes, how a body is sent. Makes none."""

from __future__ import annotations

import ssl
from functools import cache

import httpx

CONNECT_S = 10.0
"""A connection that is not there by then will not be."""
PIECE_BYTES = 256 << 10


@cache
def trust_store(*, tls: bool) -> ssl.SSLContext:
    """Loaded once, and only for https: it costs up to 100 ms. The machine's own authorities count as well."""
    if not tls:
        return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


class Body(httpx.AsyncByteStream):
    """A request's body as a plain iterator. Given bytes, httpx makes an async generator, which a cancellation in the
    middle would leave to the garbage collector."""

    def __init__(self, body: bytes) -> None:
        self._rest = memoryview(body)

    def __aiter__(self) -> Body:
        return self

    async def __anext__(self) -> bytes:
        piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
        if not piece:
            raise StopAsyncIteration
        return bytes(piece)
