"""Events that the platform brings by itself: answered with 200 once they are stored, where its signature is right and
fresh."""

from __future__ import annotations

import hmac
import json
from collections.abc import Mapping
from hashlib import sha256
from http import HTTPStatus
from time import time
from typing import Any, cast
from urllib.parse import parse_qsl

import structlog
import trio
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response

from hookgate.channels.http.requests import Gone, HttpRefused, read_body
from hookgate.channels.http.server import Receive, Scope, Send
from hookgate.channels.slack.connection import Connection
from hookgate.channels.slack.incoming.inbox import Inbox
from hookgate.channels.slack.settings import Secret
from hookgate.protocol.catalog import StoreFailed

log = structlog.get_logger("hookgate.slack")

MAX_EVENT = 1_000_000
BODY_S = 10.0
WINDOW_S = 300.0
"""What was signed longer ago, or so far ahead, was recorded by somebody."""
MAX_CHALLENGE = 500


class Webhook:
    """One address for events, buttons and commands. `secret`: what the platform signs with."""

    def __init__(self, connection: Connection, secret: Secret) -> None:
        self._connection, self._secret = connection, secret.value.encode()
        self.inbox: Inbox | None = None
        """None: nothing is taken in yet."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            answer = await self._answer(Request(scope, receive))
        except HttpRefused as refused:
            answer = Response(status_code=refused.status)
        except Gone:
            return
        await answer(scope, receive, send)

    async def _answer(self, request: Request) -> Response:
        """Raises HttpRefused and Gone."""
        if request.method != "POST":
            raise HttpRefused(HTTPStatus.NOT_FOUND, "there is nothing to read here")
        body = await read_body(request, MAX_EVENT, BODY_S)
        self._verify(request.headers, body)
        kind, payload = _read(request.headers.get("content-type", ""), body)
        if payload.get("type") == "url_verification":
            return PlainTextResponse(str(payload.get("challenge"))[:MAX_CHALLENGE])
        if self.inbox is None:
            raise HttpRefused(HTTPStatus.SERVICE_UNAVAILABLE, "it is not open yet")
        try:
            await self.inbox.take(self.inbox.reader.read(kind, payload))
        except StoreFailed as error:
            self._connection.unstored(str(error))
            raise HttpRefused(HTTPStatus.SERVICE_UNAVAILABLE, "it cannot be stored") from None
        self._connection.works()
        return Response()

    def _verify(self, headers: Mapping[str, str], body: bytes) -> None:
        """Raises HttpRefused."""
        at, said = headers.get("x-slack-request-timestamp", ""), headers.get("x-slack-signature", "")
        own = f"v0={hmac.new(self._secret, b'v0:%b:%b' % (at.encode(), body), sha256).hexdigest()}"
        is_fresh = at.isascii() and at.isdecimal() and len(at) < 12 and abs(time() - int(at)) <= WINDOW_S
        if not hmac.compare_digest(own.encode(), said.encode()) or not is_fresh:
            raise HttpRefused(HTTPStatus.NOT_FOUND, "it is not signed as it should be")

    async def run(self, inbox: Inbox) -> None:
        """Until cancelled."""
        self.inbox = inbox
        self._connection.listens = True
        self._connection.works()
        await trio.sleep_forever()


def _read(type_: str, body: bytes) -> tuple[str, Mapping[str, Any]]:
    """What Socket Mode calls it, and what it says; of no kind where it says nothing that can be read."""
    try:
        if type_.startswith("application/x-www-form-urlencoded"):
            form = dict(parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=100))
            if "payload" not in form:
                return "slash_commands", form
            kind, said = "interactive", json.loads(form["payload"])
        else:
            kind, said = "events_api", json.loads(body)
    except (ValueError, RecursionError):
        said = None
        kind = "unread"
    return (kind, cast("dict[str, Any]", said)) if isinstance(said, dict) else ("unread", {})
