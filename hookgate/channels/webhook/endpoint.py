"""What a channel is sent: answered with 202 once it is stored, where it is signed as it should be. What is not
touches nothing."""

from __future__ import annotations

from collections import Counter
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from time import time

import structlog
from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import Gone, HttpRefused, answer, read_body, trace_of
from hookgate.channels.http.server import Receive, Scope, Send
from hookgate.channels.platforms.files import keep_attachment
from hookgate.channels.platforms.message import Attachment
from hookgate.channels.webhook import signing
from hookgate.channels.webhook.channel import IN, Condition
from hookgate.channels.webhook.reading import Unreadable, WebhookMessage, read
from hookgate.channels.webhook.settings import WebhookParts, WebhookSettings
from hookgate.processes.rates import Rate
from hookgate.protocol.catalog import StoreFailed
from hookgate.protocol.chat import Chat, Inbound
from hookgate.protocol.chat.media import MediaFull, MediaRefused
from hookgate.protocol.dataclasses import replace
from hookgate.protocol.journal.values import Upstream

log = structlog.get_logger("hookgate.webhook")

MAX_BODY = 1_000_000
BODY_S = 10.0
SOON = {"retry-after": "5"}
MOST_READING, MOST_DOUBTED = 64, 4
"""Bodies that are read at once, before anybody knows who has signed them: of all, and of an address of which too much
was signed by nobody. It is not shut out: whoever comes through a proxy has the address of all others."""


class Endpoint:
    def __init__(self, settings: WebhookSettings, parts: WebhookParts, condition: Condition) -> None:
        self._settings, self._parts, self._condition = settings, parts, condition
        self.is_open = False
        self._reading = Counter[str]()
        self._failed = Rate(20, 3.0)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            response = await self._answer(Request(scope, receive))
        except HttpRefused as refused:
            response = answer({"error": refused.why}, refused.status, refused.headers)
        except Gone:
            return
        await response(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        """Raises HttpRefused and Gone."""
        if request.scope["path"] != self._settings.path:
            raise HttpRefused(404, "there is nothing here")
        if request.method != "POST":
            raise HttpRefused(405, "messages are posted here", {"allow": "POST"})
        head, body = await self._signed(request)
        if not self.is_open:
            raise HttpRefused(503, "it is not open yet", SOON)
        try:
            said = read(body, request.headers, self._parts.rules())
            accepted = await self._take(said, head.id, trace_of(request.headers))
        except Unreadable as error:
            raise HttpRefused(400, str(error)) from None
        except StoreFailed as error:
            self._condition.fails(IN, str(error))
            raise HttpRefused(503, "it cannot be stored now", SOON) from None
        self._condition.works(IN)
        return answer(accepted, 202)

    async def _signed(self, request: Request) -> tuple[signing.Head, bytes]:
        """Nothing else of it is looked at before. Raises HttpRefused and Gone."""
        try:
            head = signing.read_head(request.headers, time())
        except signing.NotSigned as error:
            raise HttpRefused(401, str(error)) from None
        except signing.BadId as error:
            raise HttpRefused(400, str(error)) from None
        with self._place(request.client.host if request.client else ""):
            body = await read_body(request, MAX_BODY, BODY_S)
            if not signing.is_signed(self._settings.secrets, head, body):
                raise HttpRefused(401, "it is not signed with a secret of this channel")
        return head, body

    @contextmanager
    def _place(self, address: str) -> Generator[None]:
        """For one body. Raises HttpRefused where too many are read."""
        most = MOST_DOUBTED if self._failed.wait(address) else MOST_READING
        if self._reading[address] >= most or self._reading.total() >= MOST_READING:
            raise HttpRefused(503, "too many come at once", SOON)
        self._reading[address] += 1
        try:
            yield
        except (HttpRefused, Gone):
            self._failed.take(address)
            raise
        finally:
            self._reading[address] -= 1
            self._reading += Counter()  # Without those that are at 0.

    async def _take(self, said: WebhookMessage, id_: str, trace: str) -> Mapping[str, object]:
        """What is answered once it is stored. Raises HttpRefused, Unreadable and StoreFailed."""
        alone = said.chat == said.sender and not said.foreign
        chat = Chat(self._settings.name, said.chat, said.sender, "direct" if alone else "group", said.thread)
        # Whoever brings it means it for us, whoever else is in its chat.
        inbound = Inbound(chat, said.text, (), id_, mentioned=not alone, trace=trace)
        if self._parts.is_stranger(inbound):
            # Without its id: when they are on the list, the same may come again.
            await self._parts.turn_away(replace(inbound, message_id=""))
            raise HttpRefused(403, f"{said.sender} is not heard here")
        inbound = replace(inbound, media=await self._kept(said, chat))
        accepted = await self._parts.receive(inbound, Upstream(key=id_))
        return {"id": accepted.id, "known": accepted.known}

    async def _kept(self, said: WebhookMessage, chat: Chat) -> tuple[str, ...]:
        try:
            return tuple(
                [
                    await keep_attachment(self._parts.media, chat, Attachment("", "file", it.name), it.content)
                    for it in said.media
                ]
            )
        except MediaFull as error:
            raise HttpRefused(503, str(error), SOON) from None
        except MediaRefused as error:
            raise HttpRefused(400, f"a file is not taken: {error}") from None
