"""A request whose body is too much for anybody."""

from __future__ import annotations

from collections.abc import AsyncIterator

import httpx

PIECE, PIECES = b"x" * 65_536, 1600
SIZE = PIECES * len(PIECE)


class Pieces(httpx.AsyncByteStream):
    """A hundred megabytes. No generator: httpx leaves one half read where the server ends the connection."""

    def __init__(self) -> None:
        self._left = PIECES

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self

    async def __anext__(self) -> bytes:
        self._left -= 1
        if self._left < 0:
            raise StopAsyncIteration
        return PIECE


async def pour(client: httpx.AsyncClient, url: str, **headers: str) -> httpx.Response:
    """By chunks, or as one body whose length is told."""
    request = client.build_request("POST", url, headers=headers)
    if "content-length" not in headers:
        request.headers.pop("content-length", None)
        request.headers["transfer-encoding"] = "chunked"
    request.stream = Pieces()
    return await client.send(request)
