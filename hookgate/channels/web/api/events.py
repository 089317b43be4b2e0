"""What happens in a chat, as server-sent events: from where the page left off, for as long as it listens."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict

import trio
from starlette.requests import Request

from hookgate.channels.web.api.asking import Refused
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.feeds import Feed, Feeds
from hookgate.channels.web.server import STREAMS, Receive, Scope, Send
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import encode

HEARTBEAT_S = 15.0
PIECE_BYTES = 16_384
HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


async def tell(channel: WebChannel, admit: Callable[[], Chat], request: Request, send: Send) -> None:
    """Until the client leaves, the server stops, or `admit` does not let them in any more. Raises Refused where it
    never has."""
    feed = channel.feeds.of(admit())
    since = request.headers.get("last-event-id") or request.query_params.get("after", "")
    streams: set[trio.CancelScope] = request.scope[STREAMS]

    async def send_admitted(message: Scope) -> None:
        admit()
        await send(message)

    # A chat that somebody listens to keeps its feed, so from the first moment on.
    feed.listeners += 1
    try:
        await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
        async with trio.open_nursery() as nursery:
            streams.add(nursery.cancel_scope)
            try:
                nursery.start_soon(_until_gone, request.receive, nursery.cancel_scope)
                await _tell(channel, feed, channel.feeds.cursor(since), send_admitted)
            except Refused:
                # Logged out, or not allowed in any more.
                nursery.cancel_scope.cancel()
            finally:
                streams.discard(nursery.cancel_scope)
    finally:
        feed.listeners -= 1
    # Outside of what the client's leaving cancels: cut in its last piece, the connection would not end.
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _tell(channel: WebChannel, feed: Feed, cursor: int, send: Send) -> None:
    while True:
        events = feed.after(cursor)
        if events is None:
            snapshot = await channel.snapshot(feed.chat)
            cursor = channel.feeds.cursor(snapshot.cursor)
            data = b"event: snapshot\ndata: %s\n\n" % encode(asdict(snapshot))
            events = [(cursor, data)]
        for piece in _pieces(channel.feeds, events):
            await send({"type": "http.response.body", "body": piece, "more_body": True})
        cursor = events[-1][0] if events else cursor
        with trio.move_on_after(HEARTBEAT_S) as quiet:
            await feed.news(cursor)
        if quiet.cancelled_caught:
            await send({"type": "http.response.body", "body": b": \n\n", "more_body": True})


def _pieces(feeds: Feeds, events: Iterable[tuple[int, bytes]]) -> Iterator[bytes]:
    """What is short goes together, since each piece wakes the other side. Each event has its id, so that whoever is
    cut in the middle knows which was the last."""
    piece = bytearray()
    for number, event in events:
        piece += b"id: %s\n" % feeds.id(number).encode() + event
        if len(piece) >= PIECE_BYTES:
            yield bytes(piece)
            piece.clear()
    if piece:
        yield bytes(piece)
