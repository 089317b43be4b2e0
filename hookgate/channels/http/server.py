"""HTTP for all that answers there: hypercorn behind a guard, so that nothing a stranger sends or does not read ends
or holds up more than its own connection. Knows no page and no user."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any, TypeAlias, cast

import structlog
import trio
from hypercorn.app_wrappers import ASGIWrapper
from hypercorn.config import Config
from hypercorn.events import Event, RawData
from hypercorn.trio.tcp_server import TCPServer
from hypercorn.trio.worker_context import WorkerContext

if TYPE_CHECKING:
    from hypercorn.typing import ASGIFramework

log = structlog.get_logger("hookgate.web")

Scope: TypeAlias = MutableMapping[str, Any]
Receive: TypeAlias = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send: TypeAlias = Callable[[MutableMapping[str, Any]], Awaitable[None]]
App: TypeAlias = Callable[[Scope, Receive, Send], Awaitable[None]]

STREAMS = "hookgate.streams"
"""In the scope of each request: a set that a stream puts its cancel scope into. What is in it is cancelled when the
server stops; a task of each stream's own that waited for that would cost its memory."""
CONNECTION = "hookgate.connection"
"""In the state of each request: what it came by."""
GRACE_S = 3.0
HEAD_S = 10.0
"""For a request's head, and between two requests."""
SEND_S = 20.0
"""For the client to take one piece of an answer."""
LINGER_S = 2.0
"""A body that nobody wants is read on for so long, since a client that still writes would not see the answer."""


async def serve_http(app: App, listen: str, *, started: Callable[[str], None], stop: trio.Event) -> None:
    """Answer until `stop`, then until what is open has ended, at most GRACE_S. `listen` is HOST:PORT; `started` gets
    it with the port that was taken. Raises OSError where it cannot be had, ValueError where it is none."""
    host, _, port = listen.rpartition(":")
    listeners = await trio.open_tcp_listeners(int(port), host=host.strip("[]"))
    context, streams = WorkerContext(None), set[trio.CancelScope]()
    connection = partial(_Connection, streams, ASGIWrapper(_asgi(_Guarded(app, streams))), _config(), context)
    async with trio.open_nursery() as connections:
        async with trio.open_nursery() as accepting:
            accepting.start_soon(
                partial(trio.serve_listeners, _running(connection), listeners, handler_nursery=connections)
            )
            started(f"{host}:{listeners[0].socket.getsockname()[1]}")
            await stop.wait()
            accepting.cancel_scope.cancel()
        await context.terminated.set()
        for stream in tuple(streams):
            stream.cancel()
        connections.cancel_scope.deadline = trio.current_time() + GRACE_S


def _config() -> Config:
    config = Config()
    config.errorlog = None
    config.include_server_header = False
    return config


def _asgi(app: App) -> ASGIFramework:
    """What hypercorn's types say of the same thing."""
    return app  # pyright: ignore[reportReturnType]


def _running(
    connection: Callable[[trio.SocketStream], _Connection],
) -> Callable[[trio.SocketStream], Awaitable[None]]:
    async def run(stream: trio.SocketStream) -> None:
        await connection(stream).run()

    return run


class _Connection(TCPServer):
    """hypercorn's own lets anything but an OSError out, which would end the program, and waits for a client to read
    for as long as that likes."""

    def __init__(
        self,
        resting: set[trio.CancelScope],
        app: ASGIWrapper,
        config: Config,
        context: WorkerContext,
        stream: trio.SocketStream,
    ) -> None:
        # Of a TLS stream it knows more, and all that this one has.
        super().__init__(app, config, context, {CONNECTION: self}, cast("Any", stream))
        self.holds = 0
        """So many pieces of an answer leave with the one after them: one call of the system for all, and the other
        side wakes once."""
        self._held = b""
        self._alive = trio.CancelScope()
        self._resting = resting
        # Which is all that hypercorn calls of it.
        self.idle_task = _Rest(self._alive, resting, self.context)  # pyright: ignore[reportAttributeAccessIssue]

    async def run(self) -> None:
        try:
            with self._alive:
                await super().run()
        except* Exception as failed:
            log.info("connection_failed", why=_first(failed))
        finally:
            self._resting.discard(self._alive)

    async def protocol_send(self, event: Event) -> None:
        if not isinstance(event, RawData):
            await super().protocol_send(event)
            return
        self._held += event.data
        if self.holds:
            self.holds -= 1
        else:
            await self.send_held()

    async def send_held(self) -> None:
        data, self._held, self.holds = self._held, b"", 0
        if data:
            await self._send(data)

    async def _send(self, data: bytes) -> None:
        # As a rule the kernel takes all of it: a lock, a deadline and a round of all tasks for each piece cost more.
        await trio.lowlevel.checkpoint_if_cancelled()
        if not self.send_lock.locked():
            data = data[self._taken(data) :]
        if data:
            await self._send_rest(data)

    def _taken(self, data: bytes) -> int:
        """How much of it the kernel takes now; what fails will fail again."""
        try:
            return os.write(self.stream.socket.fileno(), data)
        except OSError:
            return 0

    async def _send_rest(self, data: bytes) -> None:
        async with self.send_lock:
            with trio.move_on_after(SEND_S):
                await self._send_whole(data)

    async def _send_whole(self, data: bytes) -> None:
        try:
            await self.stream.send_all(data)
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            self._alive.cancel()
        except trio.Cancelled:
            # What was cut in the middle is no stream of answers any more.
            self._alive.cancel()
            raise


class _Rest:
    """A connection that waits for a request ends after HEAD_S, and when the server stops. hypercorn's own begins a
    task for each request that is over."""

    def __init__(self, alive: trio.CancelScope, resting: set[trio.CancelScope], context: WorkerContext) -> None:
        self._alive, self._resting, self._context = alive, resting, context

    async def restart(self, *_task: object) -> None:
        self._alive.deadline = trio.current_time() + HEAD_S
        self._resting.add(self._alive)
        if self._context.terminated.is_set():
            self._alive.cancel()

    async def stop(self) -> None:
        self._alive.deadline = inf
        self._resting.discard(self._alive)


def _first(failed: BaseExceptionGroup[Exception]) -> str:
    error: BaseException = failed
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}"[:200]


class _Guarded:
    """A failure is that request's. An answer given before the body was read ends the connection, but not so early
    that the client misses it."""

    def __init__(self, app: App, streams: set[trio.CancelScope]) -> None:
        self._app, self._streams = app, streams

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            raise ValueError(f"no {scope['type']} here")
        scope[STREAMS] = self._streams
        connection: _Connection = scope["state"][CONNECTION]
        body = _Body(receive, has_body(scope))
        try:
            await self._app(scope, body.receive, partial(_send, body, partial(_joined, connection, send)))
        except Exception:
            log.exception("request_failed", method=scope["method"], path=scope["path"])


def has_body(scope: Scope) -> bool:
    headers: dict[bytes, bytes] = dict(scope["headers"])
    return b"transfer-encoding" in headers or headers.get(b"content-length", b"0") != b"0"


class _Body:
    def __init__(self, receive: Receive, unread: bool) -> None:
        self._receive = receive
        self.unread = unread

    async def receive(self) -> MutableMapping[str, Any]:
        message = await self._receive()
        self.unread = self.unread and message["type"] == "http.request" and message.get("more_body", False)
        return message

    async def read_away(self) -> None:
        while self.unread:
            await self.receive()


async def _joined(connection: _Connection, send: Send, message: MutableMapping[str, Any]) -> None:
    """The head leaves with what follows it, the last piece with the end."""
    if message["type"] == "http.response.start":
        connection.holds = 1
        await send(message)
        return
    connection.holds = 1 if message.get("body") and not message.get("more_body", False) else 0
    await send(message)
    # Of what has no body, as the answer to a HEAD, it made less than that.
    await connection.send_held()


async def _send(body: _Body, send: Send, message: MutableMapping[str, Any]) -> None:
    if not body.unread:
        await send(message)
    elif message["type"] == "http.response.start":
        await send({**message, "headers": [*message.get("headers", ()), (b"connection", b"close")]})
    else:
        await send({**message, "more_body": True})
        if message.get("more_body", False):
            return
        with trio.move_on_after(LINGER_S):
            await body.read_away()
        # hypercorn says that it is over through the queue that the body fills.
        async with trio.open_nursery() as nursery:
            nursery.start_soon(body.read_away)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
            nursery.cancel_scope.cancel()
