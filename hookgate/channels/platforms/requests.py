"""Requests to a platform's API over HTTP, each within a time and a size: the only module of the channels that knows
httpx. Knows no method and no token.

Every failure leaves as Unreached, in words of our own: addresses and headers hold tokens.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import field
from typing import cast

import httpx
import trio

from hookgate.network.causes import is_tls, unreached
from hookgate.network.https import CONNECT_S, Body, trust_store
from hookgate.protocol.dataclasses import dataclass

MAX_ANSWER = 32 << 20
MAX_CONNECTIONS = 8


class Unreached(Exception):
    """Nothing was answered, or not all of it."""


class Unconnected(Unreached):
    """Nothing was sent either."""


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a form."""

    name: str
    filename: str
    type: str
    content: bytes


@dataclass(frozen=True, slots=True)
class Request:
    """Its body is `body`, or else `form`, in parts where it has `files`."""

    method: str
    url: str = field(repr=False)
    headers: Mapping[str, str] = field(default_factory=dict[str, str], repr=False)
    body: bytes = field(default=b"", repr=False)
    form: Mapping[str, str] = field(default_factory=dict[str, str])
    files: Sequence[Upload] = ()


@dataclass(frozen=True, slots=True)
class Answer:
    """`headers`: by their names in small letters."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class Requests:
    """A pool of connections. No proxy of the environment, no redirect."""

    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def ask(
        self, request: Request, within_s: float, most: int = MAX_ANSWER, address: str | None = None
    ) -> Answer:
        """`most`: bytes of the answer; 0: its body is left alone. `address`: to connect to, whatever the name in the
        URL means. Raises Unreached."""
        built = self._built(request)
        if address is not None:
            _lead(built, address)
        with trio.move_on_after(within_s):
            try:
                async with aclosing(await self._client.send(built, stream=True)) as response:
                    body = await _read(response, most) if most else b""
                    return Answer(response.status_code, dict(response.headers), body)
            except httpx.HTTPError as error:
                # The original quotes the address, which may hold a token.
                lost = isinstance(error, httpx.ConnectError | httpx.ConnectTimeout)
                raise (Unconnected if lost else Unreached)(_meaning(error)) from None
        raise Unreached(f"it did not answer within {within_s:g} s")

    def _built(self, request: Request) -> httpx.Request:
        files = [(it.name, (it.filename, it.content, it.type)) for it in request.files]
        try:
            built = self._client.build_request(
                request.method,
                request.url,
                headers=dict(request.headers),
                content=request.body or None,
                data=dict(request.form) or None,
                files=files or None,
            )
        except (httpx.InvalidURL, UnicodeEncodeError):
            # The original quotes the address, which may hold a token.
            raise Unreached("the token or the address of the API cannot stand in a request") from None
        built.stream = Body(b"".join(cast("Iterable[bytes]", built.stream)))
        return built


@asynccontextmanager
async def open_requests(base: str, connections: int = MAX_CONNECTIONS) -> AsyncGenerator[Requests]:
    """For a server at this address."""
    client = httpx.AsyncClient(
        verify=trust_store(tls=base.startswith("https:")),
        headers={"User-Agent": "hookgate", "Accept-Encoding": "identity"},
        timeout=httpx.Timeout(None, connect=CONNECT_S),
        limits=httpx.Limits(max_connections=connections),
        trust_env=False,
    )
    try:
        yield Requests(client)
    finally:
        with trio.CancelScope(shield=True):
            await client.aclose()


def _lead(request: httpx.Request, address: str) -> None:
    """Name and certificate stay those of the URL; `Host` has been set from it."""
    request.extensions = {**request.extensions, "sni_hostname": request.url.raw_host.decode("ascii")}
    request.url = request.url.copy_with(host=address)


async def _read(response: httpx.Response, most: int) -> bytes:
    """Raises Unreached for more than `most` bytes; left by raising, since leaving httpx's generators in the middle
    would leave them unclosed."""
    parts, size = list[bytes](), 0
    stream = response.aiter_raw()
    async for part in stream:
        parts.append(part)
        size += len(part)
        if size > most:
            break
    if size > most:
        raise Unreached(f"it answered with more than {most} bytes")
    return b"".join(parts)


def _meaning(error: Exception) -> str:
    match error:
        case httpx.ConnectTimeout():
            return f"it did not accept a connection within {CONNECT_S:g} s"
        case httpx.ConnectError() if is_tls(error):
            return "it could not prove who it is (TLS failed)"
        case httpx.ConnectError():
            return unreached(error)
        case _:
            return "it broke the connection"
