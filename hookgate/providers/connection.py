"""One HTTP/1.1 connection to a model endpoint: h11 over a stream of trio's. Knows no JSON, no deadline, no key.

A client library's pool, transport and wrappers take three times as long for a call as this does. What a call raises:
OSError, trio.BrokenResourceError, h11.ProtocolError.
"""

from __future__ import annotations

import socket
import ssl
from collections.abc import Sequence
from contextlib import suppress

import h11
import trio

from hookgate.protocol.dataclasses import dataclass

MAX_HEAD_BYTES = 100 << 10
READ_BYTES = 64 << 10
_KEEP_ALIVE = (
    (socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1),
    (socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 30),
    (socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 10),
    (socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 6),
)
"""A model may think for minutes in silence; a machine that is gone is found out in one and a half."""


@dataclass(frozen=True, slots=True)
class Head:
    """Of an answer; header names in lower case."""

    status: int
    headers: dict[str, str]


class Connection:
    """For one call at a time; `rested` says whether there may be another."""

    def __init__(self, stream: trio.abc.Stream, transport: trio.SocketStream) -> None:
        self._stream, self._socket = stream, transport.socket
        self._http = h11.Connection(h11.CLIENT, max_incomplete_event_size=MAX_HEAD_BYTES)

    async def ask(self, target: str, headers: Sequence[tuple[str, str]], body: bytes) -> Head:
        """Send it in one piece; the head of what comes back."""
        sized = [*headers, ("Content-Length", str(len(body)))]
        request = h11.Request(method="POST", target=target, headers=sized)
        pieces = (self._http.send(request), self._http.send(h11.Data(body)), self._http.send(h11.EndOfMessage()))
        # A server may refuse what it has not read to its end, and what it says to that counts.
        with suppress(trio.BrokenResourceError):
            await self._stream.send_all(b"".join(filter(None, pieces)))
        while not isinstance(event := await self._next(), h11.Response):
            pass
        found = dict[str, str]()
        for name, value in event.headers:
            word, said = name.decode("ascii"), value.decode("utf-8", "replace")
            found[word] = f"{found[word]}, {said}" if word in found else said
        return Head(event.status_code, found)

    async def receive(self) -> bytes:
        """The next piece of the answer's body, as it was sent; empty: it has ended."""
        event = await self._next()
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    async def _next(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(bytes(await self._stream.receive_some(READ_BYTES)))
        return event

    def rested(self) -> bool:
        """Whether both sides have said all and will go on; to be closed otherwise."""
        whole = (self._http.our_state, self._http.their_state) == (h11.DONE, h11.DONE)
        if whole:
            self._http.start_next_cycle()
        return whole

    @property
    def usable(self) -> bool:
        """Of one that has rested: what can be read there by now is its end."""
        return not self._socket.is_readable()

    def close(self) -> None:
        """At once, whatever is under way."""
        self._socket.close()


async def connect(host: str, port: int, tls: ssl.SSLContext | None) -> Connection:
    """Raises OSError, ValueError for a name that none can be, trio.BrokenResourceError where they do not agree on
    encryption."""
    transport = await trio.open_tcp_stream(host, port)
    for option in _KEEP_ALIVE:
        transport.setsockopt(*option)
    if tls is None:
        return Connection(transport, transport)
    stream = trio.SSLStream(transport, tls, server_hostname=host, https_compatible=True)
    try:
        await stream.do_handshake()
    except BaseException:
        transport.socket.close()
        raise
    return Connection(stream, transport)
