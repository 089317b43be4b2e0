"""What happens in a chat, as server-sent events: from where the page left off, for as long as it listens."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator
from dataclasses import asdict

import trio
from starlette.requests import Request

from hookgate.channels.http.server import STREAMS, Receive, Send
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.feeds import Feed, Feeds
from hookgate.protocol.chat import Chat
from hookgate.protocol.codec import encode

HEARTBEAT_S = 15.0
PIECE_BYTES = 16_384
HEADERS = (
    (b"content-type", b"text/event-stream"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)


async def tell(channel: WebChannel, chat: Chat, stays: Callable[[], bool], request: Request, send: Send) -> None:
    """Until the client leaves, the server stops, or whoever has asked may not stay any more."""
    feed = channel.feeds.of(chat)
    since = request.headers.get("last-event-id") or request.query_params.get("after", "")
    streams: set[trio.CancelScope] = request.scope[STREAMS]

    async def send_piece(piece: bytes) -> None:
        if stays():
            await send({"type": "http.response.body", "body": piece, "more_body": True})

    # A chat that somebody listens to keeps its feed, so from the first moment on.
    with channel.listening(feed):
        await send({"type": "http.response.start", "status": 200, "headers": list(HEADERS)})
        # It is open for its page, though nothing may be told for long.
        await send({"type": "http.response.body", "body": b"", "more_body": True})
        async with trio.open_nursery() as nursery:
            streams.add(nursery.cancel_scope)
            try:
                nursery.start_soon(_until_gone, request.receive, nursery.cancel_scope)
                cursor = channel.feeds.cursor(since)
                while stays():
                    cursor = await _tell(channel, feed, cursor, send_piece)
                nursery.cancel_scope.cancel()
            finally:
                streams.discard(nursery.cancel_scope)
    # Outside of what the client's leaving cancels: cut in its last piece, the connection would not end.
    await send({"type": "http.response.body", "body": b"", "more_body": False})


async def _until_gone(receive: Receive, scope: trio.CancelScope) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    scope.cancel()


async def _tell(channel: WebChannel, feed: Feed, cursor: int, send: Callable[[bytes], Awaitable[None]]) -> int:
    """What has come since, or a sign of life where nothing comes. The cursor of what was told last."""
    if feed.cursor == cursor:
        with trio.move_on_after(HEARTBEAT_S) as quiet:
            await feed.news(cursor)
        if quiet.cancelled_caught:
            await send(b": \n\n")
            return cursor
    events = feed.after(cursor)
    if events is None:
        snapshot = await channel.snapshot(feed.chat)
        cursor = channel.feeds.cursor(snapshot.cursor)
        events = [(cursor, b"event: snapshot\ndata: %s\n\n" % encode(asdict(snapshot)))]
    for piece in _pieces(channel.feeds, events):
        await send(piece)
    return events[-1][0]


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
