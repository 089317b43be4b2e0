"""Updates that the platform brings by itself: answered with 200 once they are stored, where the secret is said."""

from __future__ import annotations

import json
import secrets
from http import HTTPStatus
from time import time
from weakref import WeakValueDictionary

import structlog
import trio
from starlette.requests import Request
from starlette.responses import Response

from hookgate.channels.http.requests import Gone, HttpRefused, read_body
from hookgate.channels.http.server import Receive, Scope, Send
from hookgate.channels.telegram.api import Api, ApiFailed
from hookgate.channels.telegram.connection import Connection
from hookgate.channels.telegram.incoming.inbox import Inbox
from hookgate.channels.telegram.incoming.updates import KINDS, chat_of
from hookgate.channels.telegram.wire import WebhookInfo
from hookgate.protocol.catalog import StoreFailed

log = structlog.get_logger("hookgate.telegram")

LOOK_S = 60.0
MAX_UPDATE = 1_000_000
BODY_S = 30.0
SECRET_HEADER = "x-telegram-bot-api-secret-token"  # noqa: S105 - where it stands


class Webhook:
    """`url`: where the platform brings updates. `secret`: what it has to say then."""

    def __init__(self, api: Api, connection: Connection, url: str, secret: str) -> None:
        self._api, self._connection = api, connection
        self._url, self._secret = url, secret
        self._in_order: WeakValueDictionary[str, trio.Lock] = WeakValueDictionary()
        self._is_stored = True
        """What has come last; the platform brings again what was not."""
        self.inbox: Inbox | None = None
        """None: nothing is taken in yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            status = await self._answer(Request(scope, receive))
        except HttpRefused as refused:
            status = refused.status
        except Gone:
            return
        await Response(status_code=status)(scope, receive, send)

    async def _answer(self, request: Request) -> int:
        """Raises HttpRefused and Gone."""
        said = request.headers.get(SECRET_HEADER, "").encode()
        if request.method != "POST" or not secrets.compare_digest(said, self._secret.encode()):
            return HTTPStatus.NOT_FOUND
        if self.inbox is None:
            return HTTPStatus.SERVICE_UNAVAILABLE
        body = await read_body(request, MAX_UPDATE, BODY_S)
        try:
            raw: object = json.loads(body)
        except (ValueError, RecursionError):
            log.warning("update_skipped", reason="it is no JSON")
            return HTTPStatus.OK
        try:
            await self._take(self.inbox, raw)
        except StoreFailed as error:
            self._is_stored = False
            self._connection.unstored(str(error))
            return HTTPStatus.SERVICE_UNAVAILABLE
        self._is_stored = True
        self._connection.works()
        return HTTPStatus.OK

    async def _take(self, inbox: Inbox, raw: object) -> None:
        if inbox.expects_more(raw):
            await inbox.take(raw)
            return
        lane = chat_of(raw) + inbox.lane(raw)
        lock = self._in_order[lane] = self._in_order.get(lane) or trio.Lock()
        async with lock:
            await inbox.take(raw)

    async def run(self) -> None:
        """Have the platform know where, and look whether it still does; until cancelled."""
        while True:
            try:
                wait_s = await self._look()
            except ApiFailed as error:
                wait_s = self._connection.failed(error)
            await trio.sleep(wait_s)

    async def _look(self) -> float:
        """Raises ApiFailed."""
        info = WebhookInfo.model_validate(await self._api.call("getWebhookInfo", {}))
        if info.url != self._url:
            params = {"url": self._url, "secret_token": self._secret, "allowed_updates": list(KINDS)}
            await self._api.call("setWebhook", params)
        elif info.last_error_date > time() - 2 * LOOK_S and info.pending_update_count:
            return self._connection.failed(ApiFailed(0, f"it cannot bring updates: {info.last_error_message[:200]}"))
        if self._is_stored:
            self._connection.works()
        return LOOK_S
