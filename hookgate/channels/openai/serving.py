"""One request from its message to the last of its answer, whole or as a stream; and what becomes of it where its
client leaves. Knows no wire."""

from __future__ import annotations

from typing import Protocol

import trio
from starlette.requests import Request

from hookgate.channels.http.requests import answer as json_answer
from hookgate.channels.http.server import STREAMS, Send
from hookgate.channels.openai.answers.answer import Piece
from hookgate.channels.openai.answers.answering import Answering, Whole
from hookgate.channels.openai.answers.calls import OwnCall
from hookgate.channels.openai.asking import PlacedRequest
from hookgate.channels.openai.channel import OpenAIChannel
from hookgate.channels.openai.errors import ApiError, stopping, unauthorized
from hookgate.channels.openai.forgetting import Forgetting
from hookgate.channels.openai.identity import SESSION
from hookgate.channels.openai.leaving import Leaving, Left
from hookgate.channels.openai.settings import OpenAIParts, OpenAISettings
from hookgate.protocol.dataclasses import dataclass
from hookgate.protocol.journal.keys import Key
from hookgate.protocol.journal.values import Accepted

STREAM_HEADERS = (
    (b"content-type", b"text/event-stream; charset=utf-8"),
    (b"cache-control", b"no-store"),
    (b"x-accel-buffering", b"no"),
)
KEEP_ALIVE = b": waiting\n\n"


class Form(Protocol):
    """How an answer reads on a wire."""

    def begin(self) -> bytes: ...

    def text(self, piece: str) -> bytes: ...

    def call(self, call: OwnCall, /) -> bytes:
        """Of one of our own tools; empty: it is not shown."""
        ...

    def end(self, whole: Whole, shown: str) -> bytes:
        """`shown`: the text that was sent."""
        ...

    def failed(self, error: ApiError) -> bytes: ...

    def body(self, whole: Whole) -> dict[str, object]: ...


@dataclass
class Client:
    """`shown`: the text that it was sent; `begun`: so was the head."""

    request: Request
    send: Send
    form: Form
    key: Key
    shown: str = ""
    begun: bool = False
    left: bool = False

    async def until_left(self, scope: trio.CancelScope) -> None:
        while (await self.request.receive())["type"] != "http.disconnect":
            pass
        self.left = True
        scope.cancel()

    async def begin(self, headers: list[tuple[bytes, bytes]]) -> None:
        self.begun = True
        await self.send({"type": "http.response.start", "status": 200, "headers": [*STREAM_HEADERS, *headers]})
        await self.put(self.form.begin())

    async def tell(self, piece: Piece) -> None:
        if isinstance(piece, OwnCall):
            if data := self.form.call(piece):
                await self.put(data)
            return
        self.shown += piece
        await self.put(self.form.text(piece) if piece else KEEP_ALIVE)

    async def put(self, data: bytes, *, more: bool = True) -> None:
        await self.send({"type": "http.response.body", "body": data, "more_body": more})


@dataclass(frozen=True)
class Ends:
    """What becomes of a request once its client has its answer, or has left."""

    leaving: Leaving
    forgetting: Forgetting


class Serving:
    def __init__(self, settings: OpenAISettings, parts: OpenAIParts, channel: OpenAIChannel, ends: Ends) -> None:
        self._settings, self._parts, self._channel, self._ends = settings, parts, channel, ends
        self._answering = Answering(settings, parts, channel)

    async def serve(self, client: Client, asked: PlacedRequest, *, stream: bool) -> None:
        """Raises ApiError where nothing was answered yet, and StoreFailed where the message could not be stored."""
        headers = [(SESSION.encode(), asked.place.session.encode("latin-1", "replace"))]
        # From before a turn can begin, so that nothing of it is missed.
        with self._channel.reading(asked.place.chat, asked.place.message):
            accepted = await self._parts.receive(asked.inbound)
            if not accepted.id:
                raise ApiError(403, "you are not heard here", None, "not_heard", "permission_error")
            if stream:
                await client.begin(headers)
            ended = await self._until_answered(client, asked, accepted)
        if asked.place.alone and not accepted.known:
            self._ends.forgetting.forget(accepted, long=asked.kept)
            self._parts.rest(asked.place.chat)
        if client.left and self._settings.on_disconnect == "cancel":
            self._ends.leaving.leave(Left(asked.place, accepted, asked.repeats and not client.begun))
        if isinstance(ended, ApiError):
            if not client.begun:
                raise ended
            await client.put(client.form.failed(ended), more=False)
        elif stream:
            await client.put(client.form.end(ended, client.shown), more=False)
        else:
            response = json_answer(client.form.body(ended))
            response.raw_headers.extend(headers)
            await response(client.request.scope, client.request.receive, client.send)

    async def _until_answered(self, client: Client, asked: PlacedRequest, accepted: Accepted) -> Whole | ApiError:
        ended: Whole | ApiError = stopping()
        tell = client.tell if client.begun else _nothing
        streams: set[trio.CancelScope] = client.request.scope[STREAMS]
        async with trio.open_nursery() as nursery:
            streams.add(nursery.cancel_scope)
            try:
                nursery.start_soon(client.until_left, nursery.cancel_scope)
                with self._parts.keys.held(client.key) as held:
                    ended = await self._answering.answer(asked, accepted, tell)
                ended = unauthorized() if held.cancelled_caught else ended
            except ApiError as error:
                ended = error
            finally:
                streams.discard(nursery.cancel_scope)
            nursery.cancel_scope.cancel()
        return ended


async def _nothing(_piece: Piece) -> None:
    await trio.lowlevel.checkpoint()
