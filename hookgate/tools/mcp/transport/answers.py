"""What a server answers to one HTTP request, read to its end and within limits, as a single answer for the SDK.

The SDK leaves a stream of events as soon as it has its answer, which under trio abandons four generators a call.
"""

from __future__ import annotations

import re
from codecs import getincrementaldecoder
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, Protocol, cast

import trio
from httpx_sse import EventSource, ServerSentEvent

from hookgate.protocol.codec import decode, encode
from hookgate.protocol.errors import BadMessage
from hookgate.protocol.framing import MAX_MESSAGE_BYTES
from hookgate.tools.mcp.transport.lines import PARSE_ERROR
from hookgate.tools.mcp.transport.tap import Tap

if TYPE_CHECKING:
    import httpx2

CLOSED = -32000
_NO_SUCH_METHOD = -32601
REST_S = 0.05
"""How long the end of a stream is waited for once the answer is there: a connection that ended well is used again."""
CLOSE_S = 5.0

RESUME_S = 1.0
MAX_RESUMES = 3
"""Streams in a row that say nothing new before the rest of an answer is given up."""

# Both come back to the server or decide how long it is waited for: what no header and no clock can hold is left out.
_NAME = re.compile(r"[\x20-\x7e]{1,1000}")
_LONGEST_RETRY_MS = 10**9
_utf8 = getincrementaldecoder("utf-8")


class Beside(Protocol):
    """What can be sent beside a request that still waits for its answer."""

    async def post(self, body: bytes) -> None:
        """A message that has no answer."""
        ...

    async def resume(self, event_id: str) -> httpx2.Response:
        """The stream with what follows this event."""
        ...


async def bounded(request: httpx2.Request, response: httpx2.Response, tap: Tap, beside: Beside) -> httpx2.Response:
    """The answer, whole, and never more than MAX_MESSAGE_BYTES of it.

    Streams that are no answer to a call (the server's own, a subscription) stay streams.
    """
    packed = response.headers.get("content-encoding", "identity").lower() != "identity"
    events = response.headers.get("content-type", "").lower().startswith("text/event-stream")
    if events and not packed and _stays_open(request):
        response.stream = _weighed(cast("httpx2.AsyncByteStream", response.stream), tap)
        return response
    try:
        if packed:
            # It was asked not to: what this unpacks to has no limit that could be checked on the way.
            return refusal(request, PARSE_ERROR, "its answer is compressed, which it was asked not to do")
        return await (_Stream(request, tap, beside).read(response) if events else _whole(request, response))
    finally:
        with trio.move_on_after(CLOSE_S, shield=True):
            await response.aclose()


def refusal(request: httpx2.Request, code: int, reason: str) -> httpx2.Response:
    """What the SDK hands to the caller as the server's error; it puts the right id in."""
    import httpx2

    error = {"jsonrpc": "2.0", "id": None, "error": {"code": code, "message": reason}}
    return httpx2.Response(502, json=error, request=request)


def members(body: bytes | str) -> dict[str, Any]:
    """The JSON object; empty where it is none."""
    try:
        value: Any = decode(body)
    except BadMessage:
        return {}
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _stays_open(request: httpx2.Request) -> bool:
    return request.method == "GET" or members(request.content).get("method") == "subscriptions/listen"


def _weighed(stream: httpx2.AsyncByteStream, tap: Tap) -> httpx2.AsyncByteStream:
    """Nobody waits for anything that comes on a stream that stays open. The class is made here because its base comes
    with the SDK; it is no generator, since the SDK abandons its streams."""
    import httpx2

    class Weighed(httpx2.AsyncByteStream):
        def __aiter__(self) -> Weighed:
            self._parts = aiter(stream)
            return self

        async def __anext__(self) -> bytes:
            part = await anext(self._parts)
            tap.unasked_bytes(len(part))
            return part

        async def aclose(self) -> None:
            await stream.aclose()

    return Weighed()


async def _whole(request: httpx2.Request, response: httpx2.Response) -> httpx2.Response:
    import httpx2

    parts: list[bytes] = []
    size = 0
    try:
        # Cancelling is the one early way out of the loop that leaks no generator.
        with trio.CancelScope() as scope:
            async for part in cast("httpx2.AsyncByteStream", response.stream):
                parts.append(part)
                size += len(part)
                if size > MAX_MESSAGE_BYTES:
                    scope.cancel()
    except httpx2.TransportError as error:
        return refusal(request, CLOSED, f"its answer broke off: {error}")
    if size > MAX_MESSAGE_BYTES:
        return refusal(request, PARSE_ERROR, _TOO_LONG)
    return httpx2.Response(response.status_code, headers=response.headers, content=b"".join(parts), request=request)


_TOO_LONG = f"its answer has more than {MAX_MESSAGE_BYTES} bytes"


class _Stream:
    """One call's stream of events: what the server tells on the way goes to the tap, the answer is returned.

    A server may end a stream early and name the event after which it is to be taken up again.
    """

    def __init__(self, request: httpx2.Request, tap: Tap, beside: Beside) -> None:
        self._request, self._tap, self._beside = request, tap, beside
        self._answer: dict[str, Any] | None = None
        self._last, self._retry_s = "", RESUME_S
        self._size = 0
        self._scope = trio.CancelScope()

    async def read(self, response: httpx2.Response) -> httpx2.Response:
        await self._read_one(response)
        idle = 0
        while not self._done and self._last and idle < MAX_RESUMES:
            known = self._last
            await trio.sleep(self._retry_s)
            await self._resume()
            idle = idle + 1 if self._last == known else 0
        if self._too_long:
            return refusal(self._request, PARSE_ERROR, _TOO_LONG)
        return self._answered(response)

    @property
    def _done(self) -> bool:
        return self._answer is not None or self._too_long

    @property
    def _too_long(self) -> bool:
        return self._size > MAX_MESSAGE_BYTES

    async def _resume(self) -> None:
        import httpx2

        try:
            response = await self._beside.resume(self._last)
        except httpx2.TransportError:
            return
        try:
            if response.status_code == 200:
                await self._read_one(response)
        finally:
            with trio.move_on_after(CLOSE_S, shield=True):
                await response.aclose()

    async def _read_one(self, response: httpx2.Response) -> None:
        """To its end, or a moment beyond the answer."""
        import httpx2

        self._scope, self._size = trio.CancelScope(), 0
        # Of a response, httpx-sse uses these two alone.
        body = SimpleNamespace(headers={"content-type": "text/event-stream"}, aiter_text=lambda: self._text(response))
        try:
            with self._scope:
                async for event in EventSource(cast("Any", body)).aiter_sse():
                    self._size = 0
                    await self._take(event)
        except httpx2.TransportError:
            pass

    async def _text(self, response: httpx2.Response) -> AsyncIterator[str]:
        decoder = _utf8("replace")
        async for part in cast("httpx2.AsyncByteStream", response.stream):
            self._size += len(part)
            if self._too_long:
                self._scope.cancel()
            elif text := decoder.decode(part):
                yield text

    async def _take(self, event: ServerSentEvent) -> None:
        self._last = event.id if _NAME.fullmatch(event.id) else self._last
        if event.retry is not None and 0 <= event.retry < _LONGEST_RETRY_MS:
            self._retry_s = event.retry / 1000
        if event.event != "message" or not event.data:
            return
        message = members(event.data)
        if "method" in message:
            self._tap.unasked_bytes(len(event.data))
        match ("method" in message, "id" in message):
            case (True, True):
                await self._beside.post(_declined(message))
            case (True, False):
                self._tell(message)
            case _ if "result" in message or "error" in message:
                self._answer = {**message, "id": members(self._request.content).get("id")}
                self._scope.deadline = min(self._scope.deadline, trio.current_time() + REST_S)
            case _:
                self._tap.junk(event.data[:200])

    def _tell(self, message: dict[str, Any]) -> None:
        from mcp_types import jsonrpc_message_adapter

        try:
            told = jsonrpc_message_adapter.validate_python(message, by_name=False)
        except ValueError:
            self._tap.junk(str(message)[:200])
        else:
            self._tap.passes(told)

    def _answered(self, response: httpx2.Response) -> httpx2.Response:
        import httpx2

        if self._answer is not None:
            headers = {name: value for name, value in response.headers.items() if name.startswith("mcp-")}
            headers["content-type"] = "application/json"
            return httpx2.Response(200, headers=headers, content=encode(self._answer), request=self._request)
        return refusal(self._request, CLOSED, "its answer broke off")


def _declined(message: dict[str, Any]) -> bytes:
    """hookgate offers a server nothing to ask for but whether it is there."""
    if message["method"] == "ping":
        return encode({"jsonrpc": "2.0", "id": message["id"], "result": {}})
    error = {"code": _NO_SUCH_METHOD, "message": "Method not found"}
    return encode({"jsonrpc": "2.0", "id": message["id"], "error": error})
