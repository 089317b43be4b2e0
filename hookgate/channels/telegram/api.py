"""Methods of the Bot API over HTTP: the only module of this channel that knows httpx. Knows no meaning of a method.

Every failure leaves as ApiFailed, in words of our own: the address of a request holds the token.
"""

from __future__ import annotations

import json
import ssl
from collections.abc import AsyncGenerator, Callable, Iterable, Mapping, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from hashlib import sha256
from typing import Any, cast

import httpx
import trio

CONNECT_S = 10.0
CALL_S = 25.0
UPLOAD_S = 120.0
PIECE_BYTES = 256 << 10
MAX_ANSWER = 32 << 20
MAX_CONNECTIONS = 8
JSON = {"Content-Type": "application/json"}


class ApiFailed(Exception):
    """`code`: the platform's own, 0: it was not reached. `retry_after_s`, `moved_to`: as it says."""

    def __init__(self, code: int, why: str, retry_after_s: float | None = None, moved_to: int | None = None) -> None:
        super().__init__(why)
        self.code, self.why, self.retry_after_s, self.moved_to = code, why, retry_after_s, moved_to

    def says(self, *words: str) -> bool:
        return self.code == 400 and any(word in self.why.lower() for word in words)

    @property
    def is_revoked(self) -> bool:
        """The token is none, or none any more."""
        return self.code in (401, 404)


@dataclass(frozen=True, slots=True)
class Upload:
    """A file of a request: the parameter that it is, or that another one names by `attach://`."""

    name: str
    filename: str
    type: str
    content: bytes


class _Body(httpx.AsyncByteStream):
    """As a plain iterator: a generator of httpx's that is cancelled in the middle would be left to the garbage
    collector."""

    def __init__(self, body: bytes) -> None:
        self._rest = memoryview(body)

    def __aiter__(self) -> _Body:
        return self

    async def __anext__(self) -> bytes:
        piece, self._rest = self._rest[:PIECE_BYTES], self._rest[PIECE_BYTES:]
        if not piece:
            raise StopAsyncIteration
        return bytes(piece)


class Api:
    """Two connections pools, so that nothing waits behind a poll. No proxy of the environment, no redirect."""

    def __init__(self, base: str, token: str) -> None:
        self.server = sha256(base.rstrip("/").encode()).hexdigest()[:12]
        """Which one this is, for what has numbers of its own on each."""
        self._calls = f"{base.rstrip('/')}/bot{token}"
        self._files = f"{base.rstrip('/')}/file/bot{token}"
        context = _trust_store() if base.startswith("https:") else ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        self._client, self._polling = _client(context, MAX_CONNECTIONS), _client(context, 1)

    async def aclose(self) -> None:
        for client in (self._client, self._polling):
            await client.aclose()

    async def call(self, method: str, params: Mapping[str, object], files: Sequence[Upload] = ()) -> object:
        """The result. Raises ApiFailed."""
        url = f"{self._calls}/{method}"
        if files:
            fields = {name: it if isinstance(it, str) else json.dumps(it) for name, it in params.items()}
            parts = [(it.name, (it.filename, it.content, it.type)) for it in files]
            request = _built(partial(self._client.build_request, "POST", url, data=fields, files=parts))
        else:
            request = _built(
                partial(self._client.build_request, "POST", url, content=json.dumps(params), headers=JSON)
            )
        request.stream = _Body(b"".join(cast("Iterable[bytes]", request.stream)))
        return await self._ask(self._client, request, UPLOAD_S if files else CALL_S)

    async def poll(self, offset: int, wait_s: int, kinds: Sequence[str]) -> list[object]:
        """Updates from this number on, once there are some. Raises ApiFailed."""
        params = {"offset": offset, "timeout": wait_s, "limit": 100, "allowed_updates": list(kinds)}
        url, body = f"{self._calls}/getUpdates", json.dumps(params)
        request = _built(partial(self._polling.build_request, "POST", url, content=body, headers=JSON))
        request.stream = _Body(b"".join(cast("Iterable[bytes]", request.stream)))
        result = await self._ask(self._polling, request, wait_s + CALL_S)
        if not isinstance(result, list):
            raise ApiFailed(0, "it answered with something else than updates")
        return cast("list[object]", result)

    async def download(self, path: str, most: int) -> bytes:
        """A file of at most so many bytes. Raises ApiFailed."""
        request = _built(partial(self._client.build_request, "GET", f"{self._files}/{path}"))
        status, body = await self._exchange(self._client, request, UPLOAD_S, most)
        if status != 200:
            raise ApiFailed(status, f"the file cannot be had: status {status}")
        return body

    async def _ask(self, client: httpx.AsyncClient, request: httpx.Request, within_s: float) -> object:
        status, body = await self._exchange(client, request, within_s, MAX_ANSWER)
        try:
            # Half a character that somebody sends must not cost all the other updates.
            answer: object = json.loads(body)
        except (ValueError, RecursionError):
            answer = None
        if not isinstance(answer, dict):
            raise ApiFailed(status if status != 200 else 0, f"it answered with no JSON, status {status}")
        members = cast("dict[str, Any]", answer)
        if members.get("ok") is True:
            return members.get("result")
        raise _failure(status, members)

    async def _exchange(
        self, client: httpx.AsyncClient, request: httpx.Request, within_s: float, most: int
    ) -> tuple[int, bytes]:
        with trio.move_on_after(within_s):
            try:
                async with aclosing(await client.send(request, stream=True)) as response:
                    return response.status_code, await _read(response, most)
            except httpx.HTTPError as error:
                # The original quotes the address, and so the token.
                raise ApiFailed(0, _meaning(error)) from None
        raise ApiFailed(0, f"it did not answer within {within_s:g} s")


@asynccontextmanager
async def open_api(base: str, token: str) -> AsyncGenerator[Api]:
    api = Api(base, token)
    try:
        yield api
    finally:
        with trio.CancelScope(shield=True):
            await api.aclose()


def _client(context: ssl.SSLContext, connections: int) -> httpx.AsyncClient:
    return httpx.AsyncClient(
        verify=context,
        headers={"User-Agent": "hookgate", "Accept-Encoding": "identity"},
        timeout=httpx.Timeout(None, connect=CONNECT_S),
        limits=httpx.Limits(max_connections=connections),
        trust_env=False,
    )


def _built(build: Callable[[], httpx.Request]) -> httpx.Request:
    """Raises ApiFailed."""
    try:
        return build()
    except httpx.InvalidURL:
        # The original quotes the address, and so the token.
        raise ApiFailed(0, "the token or the address of the Bot API cannot stand in a URL") from None


def _trust_store() -> ssl.SSLContext:
    context = httpx.create_ssl_context(trust_env=False)
    context.load_default_certs()
    return context


def _failure(status: int, members: Mapping[str, Any]) -> ApiFailed:
    code, why = members.get("error_code"), members.get("description")
    code = code if isinstance(code, int) and code else status
    parameters: object = members.get("parameters")
    more = cast("dict[str, object]", parameters) if isinstance(parameters, dict) else {}
    after, moved = more.get("retry_after"), more.get("migrate_to_chat_id")
    return ApiFailed(
        code,
        str(why)[:300] if why else f"status {status}",
        float(after) if isinstance(after, int) else None,
        moved if isinstance(moved, int) else None,
    )


async def _read(response: httpx.Response, most: int) -> bytes:
    """Raises ApiFailed for more than `most` bytes; left by raising, since leaving httpx's generators in the middle
    would leave them unclosed."""
    parts, size = list[bytes](), 0
    stream = response.aiter_raw()
    async for part in stream:
        parts.append(part)
        size += len(part)
        if size > most:
            break
    if size > most:
        raise ApiFailed(0, f"it answered with more than {most} bytes")
    return b"".join(parts)


def _meaning(error: Exception) -> str:
    match error:
        case httpx.ConnectTimeout():
            return f"it did not accept a connection within {CONNECT_S:g} s"
        case httpx.ConnectError() if isinstance(error.__cause__ or error.__context__, ssl.SSLError):
            return "it could not prove who it is (TLS failed)"
        case httpx.ConnectError():
            return "it cannot be reached"
        case _:
            return "it broke the connection"
