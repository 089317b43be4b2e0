"""JSON-RPC 2.0 over HTTP, for programs that show a key: one POST, one answer. Judges the request; what is asked is
judged and called as at the control socket."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import wraps

import trio
from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.bearer import Bearers
from hookgate.channels.http.keys import Keys
from hookgate.channels.http.requests import BODY_S, JSON_BYTES, Gone, HttpRefused, read_body
from hookgate.channels.http.server import STREAMS, App, Receive, Scope, Send
from hookgate.control.methods import Method, Methods, throttled
from hookgate.control.rpc import SERVER_ERROR, dispatch, error_frame
from hookgate.operations.refused import OperationRefused
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.values import Json

PATH = "/rpc"
AT_ONCE = 32
"""Requests of one key."""
CALLS_AT_ONCE = 16
"""Of one request, of those that do not wait."""
JSON = "application/json"


def make_app(bearers: Bearers, keys: Keys, methods: Callable[[Key], Methods]) -> App:
    """`methods`: what whoever has this key may ask."""
    open_ = Counter[Key]()

    async def app(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive)
        try:
            _judge(request)
            key = bearers.admit(request)
            if open_[key] >= AT_ONCE:
                raise HttpRefused(429, f"more than {AT_ONCE} requests at once", {"retry-after": "1"})
            open_[key] += 1
            try:
                body = await read_body(request, JSON_BYTES, BODY_S)
                frame = await _answered(request, body, methods(key), _Waits(request, keys, key))
            finally:
                open_[key] -= 1
            response = Response(status_code=204) if frame is None else Response(frame, 200, None, JSON)
        except HttpRefused as refused:
            response = Response(error_frame(SERVER_ERROR, refused.why), refused.status, refused.headers, JSON)
        except Gone:
            return
        await response(scope, receive, send)

    return app


def _judge(request: Request) -> None:
    """Raises HttpRefused. Any page can send what is not declared as JSON, without having asked."""
    if request.url.path != PATH:
        raise HttpRefused(404, f"there is nothing at {request.url.path[:100]}: JSON-RPC is at {PATH}")
    if request.method != "POST":
        raise HttpRefused(405, "JSON-RPC comes by POST", {"allow": "POST"})
    if request.headers.get("content-type", "").partition(";")[0].strip().lower() != JSON:
        raise HttpRefused(415, f"the body has to be {JSON}")


class _Waits:
    """The calls of a request that wait for others: they end once its key is revoked, and with the server; and where
    nobody is there any more to be answered."""

    def __init__(self, request: Request, keys: Keys, key: Key) -> None:
        self._streams: set[trio.CancelScope] = request.scope[STREAMS]
        self._scopes = set[trio.CancelScope]()
        self._keys, self._key = keys, key

    def around(self, method: Method) -> Method:
        @wraps(method.call)
        async def call(*args: Json, **params: Json) -> object:
            with self._keys.held(self._key) as scope:
                for scopes in (self._streams, self._scopes):
                    scopes.add(scope)
                try:
                    return await method.call(*args, **params)
                finally:
                    for scopes in (self._streams, self._scopes):
                        scopes.discard(scope)
            raise OperationRefused("the wait was cut short: the key was revoked, or the gateway stops")

        return replace(method, call=call)

    def end(self) -> None:
        for scope in tuple(self._scopes):
            scope.cancel()


async def _answered(request: Request, body: bytes, methods: Methods, waits: _Waits) -> bytes | None:
    """Raises Gone: what changes something has run to its end all the same."""
    quick = throttled({name: it for name, it in methods.items() if not it.waits}, trio.Semaphore(CALLS_AT_ONCE))
    waiting = {name: waits.around(it) for name, it in methods.items() if it.waits}
    gone = False

    async def watch() -> None:
        nonlocal gone
        while (await request.receive())["type"] != "http.disconnect":
            pass
        gone = True
        waits.end()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(watch)
        frame = await dispatch(body, {**quick, **waiting})
        nursery.cancel_scope.cancel()
    if gone:
        raise Gone
    return frame
