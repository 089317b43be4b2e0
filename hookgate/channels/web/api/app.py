"""The web channel as an ASGI application: which request goes where, and what every answer says to browsers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

import structlog
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute, Route

from hookgate.channels.http.requests import Gone, HttpRefused, answer
from hookgate.channels.http.server import App, Receive, Scope, Send
from hookgate.channels.web.api.approvals import ApprovalsApi
from hookgate.channels.web.api.chats import ChatsApi
from hookgate.channels.web.api.door import Door
from hookgate.channels.web.api.events import tell
from hookgate.channels.web.api.files import MediaApi, static
from hookgate.channels.web.channel import WebChannel
from hookgate.channels.web.settings import WebParts, WebSettings
from hookgate.protocol.catalog import StoreFailed, StoreFull

log = structlog.get_logger("hookgate.web")

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data: blob:; "
    "manifest-src 'self'; frame-ancestors 'none'; base-uri 'none'; form-action 'self'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def make_app(channel: WebChannel, settings: WebSettings, parts: WebParts, door: Door) -> App:
    chats, media, approvals = (
        ChatsApi(channel, parts),
        MediaApi(settings.name, parts),
        ApprovalsApi(settings.name, parts),
    )
    entered = door.entered

    async def events(scope: Scope, receive: Receive, send: Send) -> None:
        request = Request(scope, receive, send)
        login = door.admit(request)
        await tell(channel, chats.chat(request, login), lambda: door.keeps(login), request, send)

    async def page(request: Request) -> Response:
        door.check_site(request)
        return await static(request)

    routes = [
        Route("/api/login", door.logins, methods=["GET"]),
        Route("/api/login", door.login, methods=["POST"]),
        Route("/api/logout", entered(door.logout), methods=["POST"]),
        Route("/api/me", entered(door.me)),
        Route("/api/chats", entered(chats.listed), methods=["GET"]),
        Route("/api/chats", entered(chats.begin), methods=["POST"]),
        Route("/api/chats/{chat}", entered(chats.read), methods=["GET"]),
        Route("/api/chats/{chat}", entered(chats.forget), methods=["DELETE"]),
        Route("/api/chats/{chat}/events", _Raw(events), methods=["GET"]),
        Route("/api/chats/{chat}/messages", entered(chats.write, chats.turn_away), methods=["POST"]),
        Route("/api/chats/{chat}/stop", entered(chats.stop), methods=["POST"]),
        Route("/api/chats/{chat}/edit", entered(chats.edit), methods=["POST"]),
        Route("/api/chats/{chat}/regenerate", entered(chats.regenerate), methods=["POST"]),
        Route("/api/approvals", entered(approvals.listed)),
        Route("/api/approvals/{request}", entered(approvals.decide), methods=["POST"]),
        Route("/api/media", entered(media.keep), methods=["POST"]),
        Route("/media/{digest}", entered(media.read)),
        Route("/{path:path}", page),
    ]
    return hardened(routes)


def hardened(routes: Sequence[BaseRoute]) -> App:
    """With what every answer says to browsers, and a line for each refusal."""
    app = Starlette(routes=routes, exception_handlers={HttpRefused: _refused, StoreFailed: _not_stored, Gone: _gone})
    return _Hardened(cast("App", app))


class _Raw:
    """An ASGI application, which Starlette would take for a function of a request."""

    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        await self._app(scope, receive, send)


class _Hardened:
    def __init__(self, app: App) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def hardened(message: Scope) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                told = any(name == b"cache-control" for name, _ in headers)
                if scope["path"].startswith(("/api/", "/ops/api/")) and not told:
                    headers.append((b"cache-control", b"no-store"))
                message = {**message, "headers": [*headers, *HEADERS]}
            await send(message)

        await self._app(scope, receive, hardened)


async def _refused(_request: Request, error: Exception) -> Response:
    assert isinstance(error, HttpRefused)  # noqa: S101 - as it is registered
    return answer({"error": error.why}, error.status, error.headers)


async def _not_stored(_request: Request, error: Exception) -> Response:
    # Where it lies is for whoever runs it; the log has it.
    log.warning("not_stored", reason=str(error))
    why = "the gateway's disk is full" if isinstance(error, StoreFull) else "the gateway's store has failed"
    return answer({"error": f"not stored: {why}"}, 503, {"retry-after": "5"})


async def _gone(_request: Request, _error: Exception) -> Response:
    return Response(status_code=499)
